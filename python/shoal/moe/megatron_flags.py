# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of Megatron-LM's flags that nothing here is made of, with what to say of each.

Those that are read are in `shoal.moe.megatron`. The lists are of the arguments of its programs for training, of
releases since 2022, and of the launcher's.
"""

from __future__ import annotations

__all__ = ["MODEL", "REFUSED_LAYERS", "REFUSED_LAYOUTS", "WITHOUT_EFFECT"]

# About how, not what, or about something else than layers of experts and their layout: a reason, and the flags.
MODEL = "it is of the model around the layers of experts"
_GROUPS = (
    (
        "the compiler decides how",
        """
        activation-offload-fraction attention-backend batch-invariant-backend batch-invariant-mode
        checkpoint-activations cpu-offloading-num-layers cpu-offloading-retain-pinned-cpu-buffers
        cross-entropy-fusion-impl cross-entropy-loss-fusion delay-offload-until-cuda-graph delay-wgrad-compute
        delta-offload-bytes-across-pp-ranks deterministic-mode disable-clone-scatter-output-in-embedding
        disable-gloo-process-groups disable-manual-gc-eval disable-tp-comm-bulk-dgrad
        disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag disable-tp-comm-overlap-rs
        disable-tp-comm-split-ag disable-tp-comm-split-rs distribute-saved-activations
        empty-unused-memory-level ep-overlap-early-attn-memory-release fine-grained-activation-offloading
        fine-grained-offloading-max-inflight-offloads flash-attention-version fused-residual-rmsnorm
        high-priority-a2a-comm-stream high-priority-stream-groups kitchen-attention-backend manual-gc
        manual-gc-interval mhc-recompute-layer-num min-offloaded-tensor-size mla-down-proj-fusion
        moe-deepep-num-sms moe-flex-dispatcher-num-sms
        moe-grouped-gemm moe-hybridep-num-blocks-permute moe-hybridep-num-blocks-unpermute
        moe-hybridep-num-sms moe-hybridep-num-sms-preprocessing moe-hybridep-pad-uneven-dispatch-inputs
        moe-layer-recompute moe-mlp-glu-interleave-size moe-ncclep-zero-copy
        moe-pad-experts-for-cuda-graph-inference moe-paged-stash moe-paged-stash-buffer-size-factor-cpu
        moe-paged-stash-buffer-size-factor-cuda moe-paged-stash-page-size moe-permute-fusion
        moe-permute-fusion-into-hybridep moe-router-fusion moe-router-padding-for-fp8
        moe-router-padding-for-quantization moe-shared-expert-glu-interleave-size moe-shared-expert-overlap
        moe-single-grouped-bias moe-single-grouped-weight moe-use-grouped-tensor moe-use-legacy-grouped-gemm
        no-async-tensor-model-parallel-allreduce no-bias-dropout-fusion no-bias-gelu-fusion
        no-bias-swiglu-fusion no-clone-scatter-output-in-embedding no-gradient-accumulation-fusion
        no-manual-gc-eval no-masked-softmax-fusion no-persist-layer-norm no-pin-cpu-grads no-pin-cpu-params
        no-rope-fusion no-tp-comm-bulk-dgrad no-tp-comm-bulk-wgrad no-tp-comm-overlap-ag no-tp-comm-overlap-rs
        no-tp-comm-split-ag no-tp-comm-split-rs offload-modules optimizer-cpu-offload optimizer-cuda-graph
        optimizer-offload-fraction overlap-cpu-optimizer-d2h-h2d overlap-dispatch-backward-with-experts-wgrad
        overlap-moe-expert-parallel-comm pipeline-model-parallel-comm-backend recompute-activations
        recompute-granularity recompute-method recompute-modules recompute-num-layers
        tp-comm-bootstrap-backend tp-comm-overlap tp-comm-overlap-cfg tp-comm-overlap-rs-dgrad
        train-sync-interval transformer-impl use-cpu-initialization use-flash-attn
        use-fused-weighted-squared-relu use-grouped-gemm-for-dense-mlp use-grouped-gemm-for-shared-expert
        use-legacy-models use-mcore-models use-te-activation-func use-torch-optimizer-for-cpu-offload
        use-transformer-engine-op-fuser
        """,
    ),
    (
        "the compiler decides what is sent when, and shoal.optim.zero what is stored in parts",
        """
        DDP-impl create-all-gather-group data-parallel-sharding-strategy ddp-average-in-collective
        ddp-bucket-size ddp-num-buckets ddp-pad-buckets-for-high-nccl-busbw
        ddp-param-name-patterns-for-fp32-local-accumulation ddp-reduce-scatter-with-fp32-accumulation
        defer-embedding-wgrad-compute delay-param-gather disable-symmetric-registration distributed-backend
        distributed-timeout-minutes distributed-timeout-seconds-after-init enable-full-sharding-in-hsdp
        fake-process-group fsdp-double-buffer fsdp-manual-registration gtp-expert-remat-nccl-ub
        gtp-remat-nccl-ub gtp-remat-reduce-scatter-with-fp32-accumulation init-model-with-meta-device
        keep-fp8-transpose-cache keep-fp8-transpose-cache-when-using-custom-fsdp lazy-mpu-init local-rank
        megatron-fsdp-version microbatch-group-size-per-virtual-pipeline-stage nccl-communicator-config-path
        no-align-grad-reduce no-align-param-gather no-contiguous-buffers-in-local-ddp no-delay-grad-reduce
        no-gradient-reduce-div-fusion no-overlap-p2p-communication no-scatter-gather-tensors-in-pipeline
        no-use-layer-wise-param-layout num-distributed-optimizer-instances outer-dp-sharding-strategy
        overlap-grad-reduce overlap-p2p-communication overlap-p2p-communication-warmup-flush
        overlap-param-gather overlap-param-gather-with-optimizer-step replication replication-factor
        replication-jump sharp-enabled-group suggested-communication-unit-size
        torch-fsdp2-no-reshard-after-forward use-custom-fsdp use-distributed-optimizer use-megatron-fsdp
        use-nccl-ub use-ring-exchange-p2p use-sharp use-torch-fsdp2 wgrad-deferral-limit
        """,
    ),
    (
        "types are those of the arrays, and of train.step's compute=",
        """
        accumulate-allreduce-grads-in-fp32 apply-query-key-layer-scaling attention-softmax-in-fp32 bf16
        disable-bf16-reduced-precision-matmul disable-fp8-wgrad first-last-layers-bf16 fp16
        fp16-lm-cross-entropy fp32-residual-connection fp4-format fp4-param-gather fp4-quantizer-factory
        fp4-recipe fp8-amax-compute-algo fp8-amax-history-len fp8-e4m3 fp8-format fp8-hybrid fp8-interval
        fp8-margin fp8-output-proj fp8-param-gather fp8-quantizer-factory fp8-recipe grad-reduce-in-bf16
        hysteresis inference-rng-tracker initial-loss-scale kitchen-config-file kitchen-recipe-number
        loss-scale loss-scale-window mamba-training-ssm-states-dtype min-loss-scale moe-combine-bwd-dtype
        moe-dispatch-fwd-dtype no-fp8-wgrad no-query-key-layer-scaling num-layers-at-end-in-bf16
        num-layers-at-start-in-bf16 output-logit-dtype reuse-grad-buf-for-mxfp8-param-ag
        te-precision-config-file te-rng-tracker use-kitchen-attention
        """,
    ),
    (
        MODEL,
        """
        add-qkv-bias apply-layernorm-1p apply-residual-connection-post-layernorm apply-wd-to-qk-layernorm
        attention-dropout attention-output-gate bert-no-binary-head beta-fast beta-slow cache-mla-latents
        decoder-num-layers disable-dsa-indexer-rotate-activation disable-dsa-indexer-scoring-relu
        disable-multi-latent-attention dsa-indexer-head-dim dsa-indexer-k-norm-epsilon dsa-indexer-k-norm-fp32
        dsa-indexer-loss-coeff dsa-indexer-n-heads dsa-indexer-rope-interleaved dsa-indexer-skip-topk-offset
        dsa-indexer-topk dsa-indexer-topk-freq dsa-indexer-use-sparse-loss dsa-kernel-backend
        embedding-weights-in-fp32 enable-mhc-connections encoder-num-layers experimental-attention-variant
        gdp-cutedsl-kernel gdp-num-chunk-states-to-recompute gdp-num-householder group-query-attention
        gtp-remat-opt-in-modules hidden-dropout kv-channels kv-lora-rank layernorm-epsilon
        linear-attention-freq linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads
        linear-num-value-heads linear-value-head-dim make-vocab-size-divisible-by max-position-embeddings
        mhc-init-gating-factor mhc-num-residual-streams mhc-sinkhorn-iterations mlp-chunks-for-training
        mrope-section mscale mscale-all-dim mtp-detach-heads mtp-hsm mtp-hybrid-override-pattern
        mtp-loss-scaling-factor mtp-num-layers mtp-standalone mtp-use-repeated-layer multi-latent-attention
        mup-attn-scale-power mup-base-head-dim mup-base-hidden-size mup-embedding-mult mup-output-mult
        mup-width-mult no-dsa-indexer-rotate-activation no-dsa-indexer-scoring-relu no-multi-latent-attention
        no-position-embedding no-rope-freq no-yarn-correction-range-round-to-int norm-epsilon normalization
        num-attention-heads num-query-groups onnx-safe original-max-position-embeddings
        position-embedding-type q-lora-rank qk-clip qk-clip-alpha qk-clip-threshold qk-head-dim qk-l2-norm
        qk-layernorm qk-pos-emb-head-dim relative-attention-max-distance relative-attention-num-buckets
        rope-scaling-factor rope-type rotary-base rotary-interleaved rotary-percent rotary-scaling-factor
        rotary-seq-len-interpolation-factor softmax-type untie-embeddings-and-output-weights use-mup
        use-rope-scaling use-rotary-position-embeddings v-head-dim window-attn-skip-freq window-size
        yarn-beta-fast yarn-beta-slow yarn-correction-range-round-to-int yarn-original-max-position-embeddings
        """,
    ),
    (
        "shoal.data, shoal.optim and shoal.train have the run",
        """
        adam-beta1 adam-beta2 adam-eps allow-ambiguous-pad-tokens calculate-per-token-loss chat-template
        clip-grad data-args-path data-cache-path data-impl data-parallel-random-init data-path
        dataloader-defer-npy-index-mmap dataloader-fast-cache-load dataloader-inter-document-masking
        dataloader-type decoder-seq-length decoupled-lr decoupled-min-lr decrease-batch-size-if-needed
        disable-pad-vocab-size disable-tokenizer-sentencepiece-ignore-extra-whitespaces
        embedding-init-method-std encoder-seq-length end-weight-decay eod-mask-loss eval-global-batch-size
        eval-interval eval-iters eval-micro-batch-size fim-data fim-eod-token fim-fragment-rate
        fim-middle-token fim-no-prefix fim-pad-token fim-prefix-token fim-rate fim-split-sample fim-spm-rate
        fim-suffix-token freeze-all-layers full-validation gpu-sniff-test-interval init-method-std
        init-method-xavier-uniform iterations-to-skip legacy-tokenizer lion-beta1 lion-beta2 lr lr-decay-iters
        lr-decay-samples lr-decay-steps lr-decay-style lr-warmup-fraction lr-warmup-init lr-warmup-iters
        lr-warmup-samples lr-warmup-steps lr-wsd-decay-iters lr-wsd-decay-samples lr-wsd-decay-style mask-prob
        max-seqlen-per-dp-cp-rank merge-file mid-level-dataset-surplus min-lr mmap-warmup mock-data
        multiple-validation-sets muon-coefficient-type muon-extra-scale-factor muon-fp32-matmul-prec
        muon-momentum muon-nesterov muon-no-split-qkv muon-num-ns-steps muon-scalar-optimizer muon-scale-mode
        muon-tp-mode muon-use-nesterov muon-use-syrk no-create-attention-mask-in-dataloader no-mmap-bin-files
        no-pad-vocab-size no-tokenizer-sentencepiece-ignore-extra-whitespaces no-weight-decay-cond-type
        null-tokenizer-eod-id null-tokenizer-pad-id num-dataset-builder-threads num-workers
        object-storage-cache-path optimizer override-opt-param-scheduler padded-vocab-size
        per-dataset-sequences-path per-split-data-args-path phase-transition-iterations rampup-batch-size
        renormalize-blend-weights reset-attention-mask reset-position-ids result-rejected-tracker-filename
        retriever-seq-length s3-cache-path sample-rate seed seq-length sft sft-tokenizer-prompt-format
        sgd-momentum short-seq-prob skip-train split start-eval-at-iter start-weight-decay
        step-batch-size-schedule test-data-path test-mode tiktoken-num-special-tokens tiktoken-pattern
        tiktoken-special-tokens tokenizer-hf-include-special-tokens tokenizer-hf-no-include-special-tokens
        tokenizer-hf-no-use-fast tokenizer-hf-use-fast tokenizer-metadata tokenizer-model
        tokenizer-sentencepiece-legacy tokenizer-special-tokens tokenizer-type train-data-path train-iters
        train-samples trust-remote-code use-checkpoint-opt-param-scheduler use-gigatoken valid-data-path
        validation-set-names vocab-extra-ids vocab-file vocab-size warmup wd-incr-steps weight-decay
        weight-decay-incr-style wsd-decay-steps
        """,
    ),
    (
        "shoal.checkpoints has the files",
        """
        async-ckpt-cpu-priority async-ckpt-io-priority async-ckpt-use-cpu-shm async-save async-strategy
        auto-detect-ckpt-format ckpt-assume-constant-structure ckpt-convert-format ckpt-convert-save
        ckpt-convert-update-legacy-dist-opt-format ckpt-drop-redundant-extra-state ckpt-format
        ckpt-fully-parallel-load ckpt-fully-parallel-load-exchange-algo
        ckpt-fully-parallel-load-per-rank-objects ckpt-fully-parallel-load-process-group
        ckpt-fully-parallel-save ckpt-fully-parallel-save-process-group ckpt-pg-tensors-cache-create
        ckpt-pg-tensors-cache-path ckpt-step disable-ckpt-load-validate-sharding-integrity disable-load-optim
        disable-load-rng disable-msc disable-save-optim disable-save-rng disable-save-tokenizer-assets
        disable-strict-fsdp-dtensor-load disable-use-tokenizer-model-from-checkpoint-args dist-ckpt-format
        dist-ckpt-optim-fully-reshardable dist-ckpt-save-pre-mcore-014 dist-ckpt-strictness dist-ckpt-workers
        distrib-optim-fully-reshardable-mem-efficient enable-msc exit-on-missing-checkpoint finetune load
        load-main-params-from-ckpt load-model-opt-format most-recent-k no-ckpt-fully-parallel-save
        no-ckpt-load-validate-sharding-integrity no-initialization no-load-optim no-load-rng no-save-optim
        no-save-rng no-save-tokenizer-assets no-strict-fsdp-dtensor-load
        no-use-tokenizer-model-from-checkpoint-args non-persistent-ckpt-type non-persistent-global-ckpt-dir
        non-persistent-local-ckpt-algo non-persistent-local-ckpt-dir non-persistent-save-interval
        override-ckpt-iteration persistent-save-interval pretrained-checkpoint save save-activations-interval
        save-dgrads-interval save-interval save-params-interval save-retain-interval
        save-tokens-per-expert-interval save-wgrads-interval use-checkpoint-args use-dist-ckpt
        use-mp-args-from-checkpoint-args use-persistent-ckpt-worker verify-integrity
        """,
    ),
    (
        "shoal.train.fit has what is shown, logged and saved at the end",
        """
        adlr-autoresume adlr-autoresume-interval app-tag-run-name app-tag-run-version calc-ft-timeouts
        check-for-large-grads check-for-spiky-loss check-weight-hash-across-dp-replicas-interval
        config-logger-dir disable-align-grad-reduce disable-check-for-nan-in-loss disable-filter-warnings
        disable-flight-recorder-dump-on-timeout disable-flight-recorder-extra-dump-on-exec
        disable-flight-recorder-include-only-active disable-jit-fuser disable-log-loss-scale-to-tensorboard
        disable-straggler-on-startup dump-param-to-param-group-map enable-ft-package enable-one-logger
        error-injection-rate error-injection-type exit-duration-in-mins exit-interval exit-signal
        exit-signal-handler exit-signal-handler-for-dataloader exit-signal-handler-for-training
        fault-injector-delay-start-iteration fault-injector-fault-delay fault-injector-fault-probabilities
        fault-injector-fault-types fault-injector-mtti-seconds fault-injector-num-ranks
        fault-injector-offset-seconds fault-injector-ranks fault-injector-seed flight-recorder-dump-path
        flight-recorder-include-stack-trace flight-recorder-trace-buffer-size ft-num-warmup-iters
        inprocess-active-world-size inprocess-barrier-timeout inprocess-completion-timeout
        inprocess-empty-cuda-cache inprocess-granularity inprocess-hard-timeout inprocess-heartbeat-interval
        inprocess-heartbeat-timeout inprocess-last-call-wait inprocess-max-iterations
        inprocess-monitor-process-interval inprocess-monitor-thread-interval
        inprocess-progress-watchdog-interval inprocess-restart inprocess-soft-timeout
        inprocess-termination-grace-time log-batch-size-to-tensorboard log-device-memory-used log-energy
        log-interval log-l2-norm-grad-to-tensorboard log-max-attention-logit log-memory-interval
        log-memory-to-tensorboard log-num-zeros-in-grad log-params-norm log-progress
        log-runtime-to-tensorboard log-straggler log-throughput log-throughput-to-tensorboard
        log-timers-to-tensorboard log-validation-ppl-to-tensorboard log-world-size-to-tensorboard
        logging-level memory-keys memory-snapshot-path modules-to-filter
        moe-routing-trace-capture-hidden-states moe-routing-trace-capture-logits
        moe-routing-trace-dump-weights moe-routing-trace-max-training-iters moe-routing-trace-path
        no-barrier-with-level-1-timing no-check-for-nan-in-loss no-check-for-nan-in-loss-and-grad
        no-filter-warnings no-flight-recorder-dump-on-timeout no-flight-recorder-extra-dump-on-exec
        no-flight-recorder-include-only-active no-log-learnig-rate-to-tensorboard
        no-log-loss-scale-to-tensorboard no-one-logger nvtx-ranges one-logger-async one-logger-entity
        one-logger-project one-logger-run-name otel-enabled otel-service-name otel-span-groups profile
        profile-ranks profile-step-end profile-step-start pytorch-profiler-collect-callstack
        pytorch-profiler-collect-chakra pytorch-profiler-collect-shapes record-memory-history record-shapes
        rerun-mode run-workload-inspector-server runtime-time-unit save-config-filepath
        set-level-for-all-loggers straggler-ctrlr-port straggler-minmax-count tensorboard-dir
        tensorboard-log-interval tensorboard-queue-size throughput-window-size timing-log-level
        timing-log-option use-pytorch-profiler wandb-entity wandb-exp-name wandb-project wandb-save-dir
        """,
    ),
    (
        "there is no server that generates",
        """
        bert-embedder-type cuda-graph-impl cuda-graph-modules cuda-graph-scope cuda-graph-warmup-steps
        decode-only-cuda-graphs disable-chunked-prefill enable-chunked-prefill enable-cuda-graph
        external-cuda-graph flash-decode inference-batch-times-seqlen-threshold inference-coordinator-port
        inference-cuda-graph-all-prefills inference-cuda-graph-max-tokens inference-cuda-graph-scope
        inference-disable-ep-consensus inference-disable-triton-nvls-kernels inference-dynamic-batching
        inference-dynamic-batching-async-sched-mode inference-dynamic-batching-block-size
        inference-dynamic-batching-buffer-guaranteed-fraction
        inference-dynamic-batching-buffer-overflow-factor inference-dynamic-batching-buffer-size-gb
        inference-dynamic-batching-chunk-size inference-dynamic-batching-cuda-graph-max-tokens
        inference-dynamic-batching-cuda-graph-mixed-prefill-count
        inference-dynamic-batching-cuda-graph-sizing-distribution inference-dynamic-batching-logprobs-mode
        inference-dynamic-batching-mamba-memory-ratio inference-dynamic-batching-max-requests
        inference-dynamic-batching-max-requests-override inference-dynamic-batching-max-tokens
        inference-dynamic-batching-max-tokens-override inference-dynamic-batching-num-cuda-graphs
        inference-dynamic-batching-paused-buffer-size-gb inference-dynamic-batching-prefix-caching
        inference-dynamic-batching-prefix-caching-coordinator-policy
        inference-dynamic-batching-prefix-caching-eviction-policy
        inference-dynamic-batching-prefix-caching-mamba-gb
        inference-dynamic-batching-prefix-caching-routing-alpha inference-dynamic-batching-sampling-backend
        inference-dynamic-batching-track-generated-token-events
        inference-dynamic-batching-track-paused-request-events inference-dynamic-batching-unified-memory-level
        inference-flask-server-logging inference-fuse-tp-communication inference-grouped-gemm-backend
        inference-logging-step-interval inference-max-batch-size inference-max-requests
        inference-max-seq-length inference-moe-disable-fused-quant-kernels inference-moe-token-dispatcher-type
        inference-shards inference-text-gen-server-logging inference-use-synchronous-zmq-collectives
        inference-wandb-logging mamba-inference-conv-states-dtype mamba-inference-ssm-states-dtype
        max-tokens-to-oom mlp-chunks-for-prefill nccl-all-reduce-for-prefill num-speculative-tokens
        output-bert-embeddings symmetric-ar-type use-legacy-static-engine
        use-same-sampling-seed-across-dp-ranks
        """,
    ),
    (
        "it is of another program or model than a decoder's training",
        """
        bert-load biencoder-projection-dim biencoder-shared-query-context-model block-data-path
        classes-fraction data-per-class-fraction dino-bottleneck-size dino-freeze-last-layer
        dino-head-hidden-size dino-local-crops-number dino-local-img-size dino-norm-last-layer
        dino-teacher-temp dino-warmup-teacher-temp dino-warmup-teacher-temp-epochs disable-mamba-mem-eff-path
        embedding-path enable-experimental enable-gpt-oss evidence-data-path exp-avg-dtype exp-avg-sq-dtype
        export-default-te-spec export-force-local-attention export-kd-cfg export-kd-teacher-ckpt-format
        export-kd-teacher-load export-kd-teacher-model-config export-kv-cache-quant export-legacy-megatron
        export-model-type export-moe-apply-probs-on-input export-offline-model export-qk-l2-norm
        export-quant-cfg export-real-quant-cfg export-te-mcore-model finetune-data-files finetune-data-split
        finetune-hf-dataset freeze-base-for-mtp fsdp-db-use-persist-buf-on-alloc-fail grpo-clamp-eps-lower
        grpo-clamp-eps-upper grpo-default-temperature grpo-default-top-p grpo-entropy-term-weight
        grpo-filter-groups-with-same-reward grpo-group-size grpo-iterations grpo-kl-beta grpo-prompts-per-step
        head-lr-mult ict-head-size ict-load img-h img-w indexer-batch-size indexer-log-interval iter-per-epoch
        langrl-env-config langrl-external-server langrl-inference-server-conversation-template
        langrl-inference-server-type logits-load-decode-threads logits-load-dir logits-load-ignore-errors
        logits-load-kd-loss-alpha logits-load-msc-prefetch-depth logits-load-prefetch-factor logits-save-dir
        logits-save-dtype logits-save-top-k logits-save-top-p logits-save-top-p-min-k main-grads-dtype
        main-params-dtype mamba-head-dim mamba-num-groups mamba-num-heads mamba-state-dim mask-factor
        mask-type megatron-fsdp-enable-fine-grained-param-gather megatron-fsdp-grad-comm-dtype
        megatron-fsdp-main-grads-dtype megatron-fsdp-main-params-dtype megatron-fsdp-max-pool-double-buffer
        model-spec modelopt-enabled no-data-sharding num-channels num-classes patch-dim perform-rl-step
        qad-train-target query-in-block-prob refit-method retriever-report-topk-accuracies
        retriever-score-scaling retro-add-retriever retro-attention-gate retro-cyclic-train-iters
        retro-encoder-attention-dropout retro-encoder-hidden-dropout retro-encoder-layers
        retro-no-verify-neighbor-count retro-num-neighbors retro-num-retrieved-chunks retro-project-dir
        retro-return-doc-ids retro-workdir rl-calculate-intra-group-similarity rl-consumption-granularity
        rl-default-temperature rl-default-top-k rl-default-top-p rl-durable-rollout-bank
        rl-generation-batch-size rl-generation-lag rl-importance-sampling-truncation-coef
        rl-inference-expert-model-parallel-size rl-inference-expert-tensor-model-parallel-size
        rl-inference-logprobs-is-correction rl-inference-model-unified-memory-level rl-inference-parsers
        rl-inference-pipeline-model-parallel-size rl-inference-tensor-model-parallel-size
        rl-kv-cache-management-mode rl-max-inflight-requests rl-num-parallel-generation-batches
        rl-num-parallel-generations rl-offload-inference-model-weights-when-idle
        rl-offload-kv-cache-during-training rl-offload-optimizer-during-inference rl-parallel-generation-tasks
        rl-partial-rollouts rl-persist-cuda-graphs rl-profile rl-profile-dir rl-prompts-per-eval
        rl-remove-kv-cache-during-training rl-reset-cuda-graphs rl-rollout-bank-dir rl-rollout-bank-max-bytes
        rl-sequence-packing-algo rl-sequence-packing-bin-size rl-sequence-packing-max-sequences-per-bin
        rl-skip-bos-token rl-submission-granularity rl-training-cuda-graphs rl-use-sequence-packing
        rl-verify-model-weights-swap spec swin-backbone-type titles-data-path use-one-sent-docs
        use-precision-aware-optimizer vision-backbone-type vision-pretraining vision-pretraining-type
        """,
    ),
    (
        "mpirun or shoal.launch starts processes",
        """
        local-addr log-dir master-addr master-port max-restarts module monitor-interval nnodes no-python
        node-rank rdzv-backend rdzv-conf rdzv-endpoint rdzv-id redirects role run-path
        standalone start-method tee
        """,
    ),
    ("--moe-token-dispatcher-type flex is the same with each of them", "moe-enable-deepep moe-flex-dispatcher-backend"),
    ("a model's metrics have each layer's losses in any case", "moe-per-layer-logging"),
    ("shoal.moe.upcycle makes the parameters", "moe-use-upcycling"),
    ("shoal.moe.upcycle finds it of the sizes", "moe-upcycling-granularity"),
)
WITHOUT_EFFECT = {name: why for why, names in _GROUPS for name in names.split()}

_UNEVEN = "stages of different numbers of layers"
_KINDS = "layers of other kinds than attention with experts or a dense network"
_ACTIVATION = "there is no such activation"
_SHARDS = "give Layout's role zero, which stores experts over more devices than they are used on"

# About what, and there is none of it here: of layers of experts, and of layouts.
REFUSED_LAYERS = {
    "heterogeneous-layers-config-encoded-json": _KINDS,
    "heterogeneous-layers-config-path": _KINDS,
    "hybrid-attention-ratio": _KINDS,
    "hybrid-layer-pattern": _KINDS,
    "hybrid-mlp-ratio": _KINDS,
    "hybrid-override-pattern": _KINDS,
    "is-hybrid-model": _KINDS,
    "moe-enable-routing-replay": "choices that were recorded are not replayed",
    "moe-extended-tp": "give --expert-tensor-parallel-size",
    "moe-latent-size": "experts are of the model's size",
    "moe-router-force-biased": "give --moe-router-force-load-balancing",
    "moe-router-quantile-balancing-ema": "give --moe-router-enable-expert-bias",
    "moe-token-dropping": "give --moe-expert-capacity-factor",
    "openai-gelu": 'give hidden_act="gelu_tanh" beside them',
    "squared-relu": _ACTIVATION,
    "yaml-cfg": "fields of a file are not read; give them as flags",
}
REFUSED_LAYOUTS = {
    "account-for-embedding-in-pipeline-split": _UNEVEN,
    "account-for-loss-in-pipeline-split": _UNEVEN,
    "batch-size": "give --micro-batch-size, its newer name",
    "decoder-first-pipeline-num-layers": _UNEVEN,
    "decoder-last-pipeline-num-layers": _UNEVEN,
    "encoder-pipeline-model-parallel-size": "an encoder has no devices of its own",
    "encoder-tensor-model-parallel-size": "an encoder has no devices of its own",
    "expert-parallel": "give --expert-model-parallel-size, its newer name",
    "expert-tensor-parallel-num-weight-shards": _SHARDS,
    "hierarchical-context-parallel-sizes": "places lie over one cp; give --context-parallel-size",
    "hybrid-context-parallel": "places lie over one cp; give --context-parallel-size",
    "model-parallel-size": "give --tensor-model-parallel-size, its newer name",
    "pipeline-model-parallel-layout": _UNEVEN,
    "pipeline-model-parallel-split-rank": "an encoder has no devices of its own",
    "standalone-embedding-stage": _UNEVEN,
    "tensor-parallel-num-weight-shards": _SHARDS,
    "yaml-cfg": "fields of a file are not read; give them as flags",
}
