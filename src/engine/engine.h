// Engine: owns everything alive (weights, caches, sequences) and runs it step by step (step.cc). One thread
// calls it; the workers of its executor are its own. It deals in token ids; a request's error stays that
// request's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cache/block_pool.h"
#include "cache/kv_store.h"
#include "checkpoint/tensor_source.h"
#include "draft/drafter.h"
#include "engine/engine_plan.h"
#include "engine/figures.h"
#include "engine/request.h"
#include "engine/sequence.h"
#include "kernels/executor.h"
#include "model/model.h"
#include "schedule/batcher.h"
#include "schedule/cost_curve.h"
#include "schedule/draft_governor.h"
#include "schedule/survival.h"

namespace outrider::engine {

using OnProgress = std::function<void(std::int64_t bytes_done)>;

class Engine {
 public:
  // `draft_source` is needed by drafters with weights of their own.
  static base::Result<std::unique_ptr<Engine>> open(EnginePlan plan, const checkpoint::TensorSource& source,
                                                    const checkpoint::TensorSource* draft_source,
                                                    const OnProgress& on_progress = {});
  // The same on weights that are loaded already, by several engines in turn, one of them at a time. They must
  // have been loaded for this plan's arithmetic, and for as many positions.
  static base::Result<std::unique_ptr<Engine>> open_on(std::shared_ptr<model::Model> model, EnginePlan plan,
                                                       const checkpoint::TensorSource* draft_source,
                                                       const OnProgress& on_progress = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Checked against the plan: ids within the vocabulary, room for the prompt and one token. `sink` may be
  // null; it must outlive the request.
  base::Result<base::SequenceId> submit(Request request, TokenSink* sink);
  // One step; false if there was nothing to do.
  bool step();
  // The request's output so far; stays until forget().
  const Output& output(base::SequenceId sequence) const;
  void forget(base::SequenceId sequence);

  const Figures& figures() const { return figures_; }
  const EnginePlan& plan() const { return plan_; }
  const model::Model& model() const { return *model_; }
  const draft::Drafter* drafter() const { return drafter_.get(); }
  kernels::Executor& executor() { return executor_; }

  // The cached bytes of one position of a running sequence, target's then drafter's: to compare states in
  // tests.
  std::vector<std::byte> state_bytes(base::SequenceId sequence, std::int64_t position) const;
  // Positions whose state is committed.
  std::int64_t computed_count(base::SequenceId sequence) const;
  // From now on the number of drafts follows what pays: `costs` says what steps cost here (measure_costs, or
  // a file). Text does not depend on it where drafts are greedy or verification is drafter-invariant; else
  // its distribution does not.
  void adapt(schedule::StepCosts costs);
  // Times passes of several sizes and the drafter's block, in about `seconds`; to be called while nothing
  // runs.
  schedule::StepCosts measure_costs(double seconds);

  // Replaces what the drafter proposed: fault injection in tests. Called with each proposal before it is
  // verified.
  std::function<void(const Sequence&, decode::Proposal&)> on_proposal;

 private:
  explicit Engine(EnginePlan plan);
  base::Result<base::Done> add_drafter(const checkpoint::TensorSource* draft_source,
                                       const OnProgress& on_progress);

  // The rows that one sequence runs in a step: tokens_[computed ..] and then drafts.
  struct Segment {
    Sequence* sequence;
    std::int64_t first_row;
    std::int64_t row_count;
    int draft_count;                   // of the rows, the last ones
    bool reaches_end;                  // the last committed token is among the rows: its row decides a token
    std::int64_t first_logit_row = 0;  // into the rows that get logits
    std::int64_t computed_before = 0;
  };

  using Sequences = std::deque<std::unique_ptr<Sequence>>;
  void plan_step();
  schedule::SequenceView view_of(const Sequence& sequence) const;
  void add_segment(Sequence& sequence, const schedule::SequenceRows& rows);
  void preempt(base::SequenceId id);
  void admit(base::SequenceId id);
  static Sequence& find(const Sequences& sequences, base::SequenceId id);
  static void move_between(Sequences& from, Sequences& to, base::SequenceId id, bool to_front);
  void run_target();
  void verify_segment(const Segment& segment);
  base::Result<decode::Verdict, base::Error> judge(const Segment& segment);
  void commit(const Segment& segment, const decode::Verdict& verdict);
  void cut_commit(Sequence& sequence);
  void count_round(const Segment& segment, const decode::Verdict& verdict);
  void observe_commits();
  void propose();
  void collect_draft_requests();
  void cut_proposals();
  void place_probe(Sequence& probe, std::int64_t context, std::int64_t rows);
  double time_of_draft(const Sequence& probe, double seconds);
  void retire_finished();
  bool needs_logits(const Sequence& sequence) const;

  EnginePlan plan_;
  kernels::Executor executor_;
  std::shared_ptr<model::Model> model_;
  cache::KvStore store_;
  cache::BlockPool pool_;
  std::unique_ptr<draft::Drafter> drafter_;

  Sequences running_;  // oldest first
  Sequences waiting_;  // in the order they are to be served
  std::unordered_map<base::SequenceId, std::unique_ptr<Sequence>> finished_;
  std::uint64_t next_id_ = 1;
  std::optional<schedule::DraftGovernor> governor_;  // absent: always N drafts
  schedule::SurvivalCalibration calibration_;
  Figures figures_;

  // One step's values, kept for their capacity.
  std::vector<Segment> segments_;
  std::vector<schedule::SequenceView> views_;
  schedule::BatchScratch batch_scratch_;
  schedule::StepPlan step_plan_;
  model::Batch batch_;
  std::vector<draft::Observation> observations_;
  std::vector<draft::DraftRequest> draft_requests_;
  std::vector<decode::Proposal> proposals_;
  std::vector<Sequence*> proposing_;
  std::vector<schedule::DraftGovernor::Request> governor_requests_;
  std::vector<schedule::SurvivalCurve> survival_;
  std::vector<base::TokenId> committed_;
  std::vector<std::int32_t> best_ids_;
  std::vector<float> best_logits_;
  tensor::Buffer hidden_, features_, logit_hidden_, logits_;
  decode::VerifyScratch verify_scratch_;
  decode::AcceptRules plain_rules_;
};

}  // namespace outrider::engine
