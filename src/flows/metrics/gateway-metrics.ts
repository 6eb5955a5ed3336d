/**
 * The metrics of a gateway: what is counted as it happens, and what is read at a request. Loaded only with `http.metrics`.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ModelCallMonitor, ModelCallObserver } from '../../agent/models/model-call-monitor.ts'
import { extractUsage } from '../../agent/models/response-json.ts'
import type { HookStatus } from '../../hooks/hook-status.ts'
import type { OpenMessages } from '../../inbox/open-messages.ts'
import type { HookEventListener } from '../../message/hook-events.ts'
import type { OpenReplies } from '../../outbox/open-replies.ts'
import type { Supervisor } from '../../platforms/supervisor.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { GatewayEvents } from '../events/gateway-events.ts'
import {
  createCounter,
  createCounterView,
  createGauge,
  createHistogram,
  type Labels,
  type Metric,
} from './exposition.ts'

export interface Queues {
  readonly messages: OpenMessages
  readonly replies: OpenReplies
}

export interface MetricsGateway extends Pick<Runtime, 'clock'> {
  readonly version: string
  /** Rejects `store/...`. */
  queues(): Promise<Queues>
  readonly events: Pick<GatewayEvents, 'observe'>
  readonly modelCalls: Pick<ModelCallMonitor, 'observers'>
  readonly hooks: { list(): readonly HookStatus[] }
  readonly engine: { load(): { readonly running: number; readonly waiting: number } }
  readonly platforms: Pick<Supervisor, 'health'>
}

export interface GatewayMetrics {
  /** All metrics with what they count now. Rejects `store/...`. */
  read(): Promise<readonly Metric[]>
  /** Counts nothing more. */
  stop(): void
}

/** Counts from now on. */
export function startMetrics(gateway: MetricsGateway): GatewayMetrics {
  const messages = countMessages(gateway.events)
  const turns = countTurns(gateway.events)
  const calls = countModelCalls(gateway.modelCalls)
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  const gauges = gatewayGauges(gateway)
  return {
    async read() {
      const queues = await gateway.queues()
      return [
        ...gauges,
        ...messages.metrics,
        ...turns.metrics,
        ...calls.metrics,
        ...queueGauges(queues, gateway.clock()),
        ...processMetrics(delay),
      ]
    },
    stop() {
      messages.stop()
      turns.stop()
      calls.stop()
      delay.disable()
    },
  }
}

/** Metrics and the function that ends their counting. */
interface Counted {
  readonly metrics: readonly Metric[]
  stop(): void
}

function countMessages(events: MetricsGateway['events']): Counted {
  const received = createCounter({
    name: 'hermes_messages_received_total',
    help: 'Messages and commands that were accepted.',
    labels: ['platform'],
  })
  const refused = createCounter({
    name: 'hermes_messages_refused_total',
    help: 'Messages of people without access.',
    labels: ['platform', 'reason'],
  })
  const sent = createCounter({
    name: 'hermes_messages_sent_total',
    help: 'Replies and notices. result: sent, or failed for a dead letter.',
    labels: ['platform', 'result'],
  })
  const retried = createCounter({
    name: 'hermes_send_retries_total',
    help: 'Failed attempts to send, of messages that were sent or became dead letters since.',
    labels: ['platform'],
  })
  const questions = createCounter({
    name: 'hermes_questions_total',
    help: 'Approvals and confirmations that people were asked for.',
    labels: ['platform'],
  })
  const event: HookEventListener = (name, context) => {
    if (!('platform' in context)) return
    const { platform } = context
    if (name === 'message:received') received.add({ platform })
    else if (name === 'message:refused' && 'reason' in context) refused.add({ platform, reason: context.reason ?? '' })
    else if (name === 'approval:requested') questions.add({ platform })
  }
  const stop = events.observe({
    event,
    finished({ target: { platform }, error, tries }) {
      sent.add({ platform, result: error === undefined ? 'sent' : 'failed' })
      if (tries > 0) retried.add({ platform }, tries)
    },
  })
  return { metrics: [received, refused, sent, retried, questions], stop }
}

const durationBounds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]

function countTurns(events: MetricsGateway['events']): Counted {
  const turns = createCounter({
    name: 'hermes_turns_total',
    help: 'Ended turns. result: done, failed, stopped or interrupted.',
    labels: ['platform', 'result'],
  })
  const turnSeconds = createHistogram(
    { name: 'hermes_turn_duration_seconds', help: 'From the claim of a message to its answer.', labels: ['platform'] },
    durationBounds,
  )
  const tools = createCounter({
    name: 'hermes_tool_calls_total',
    help: 'Ended tool calls. result: ok or failed.',
    labels: ['tool', 'result'],
  })
  const toolSeconds = createHistogram(
    { name: 'hermes_tool_call_duration_seconds', help: 'Duration of a tool call.', labels: ['tool'] },
    durationBounds,
  )
  /** When a turn or a call began, ms; by its id. */
  const begun = new Map<string, number>()
  const secondsSince = (id: string) => {
    const at = begun.get(id)
    begun.delete(id)
    return at === undefined ? undefined : (performance.now() - at) / 1_000
  }
  const stop = events.observe({
    activity(
      {
        event: {
          source: { platform },
        },
      },
      activity,
    ) {
      if (activity.kind === 'turn-started') begun.set(activity.turnId, performance.now())
      else if (activity.kind === 'tool-started') begun.set(`${activity.turnId} ${activity.callId}`, performance.now())
      else if (activity.kind === 'tool-ended') {
        const { tool } = activity
        tools.add({ tool, result: activity.ok ? 'ok' : 'failed' })
        const seconds = secondsSince(`${activity.turnId} ${activity.callId}`)
        if (seconds !== undefined) toolSeconds.observe({ tool }, seconds)
      } else {
        turns.add({ platform, result: activity.status })
        const seconds = secondsSince(activity.turnId)
        if (seconds !== undefined) turnSeconds.observe({ platform }, seconds)
      }
    },
  })
  return { metrics: [turns, turnSeconds, tools, toolSeconds], stop }
}

function countModelCalls(monitor: MetricsGateway['modelCalls']): Counted {
  const labels = ['provider', 'model'] as const
  const calls = createCounter({
    name: 'hermes_model_calls_total',
    help: 'Ended model calls. result: ok, aborted, or the kind of the failure.',
    labels: [...labels, 'result'],
  })
  const seconds = createHistogram(
    { name: 'hermes_model_call_duration_seconds', help: 'Duration of a model call.', labels },
    durationBounds,
  )
  const tokens = createCounter({
    name: 'hermes_model_tokens_total',
    help: 'Tokens as the provider counts them. kind: input, output or cached_input (a part of input).',
    labels: [...labels, 'kind'],
  })
  const count: ModelCallObserver = ({ provider, model, ms, response, result }) => {
    const call: Labels = { provider, model }
    calls.add({ ...call, result })
    seconds.observe(call, ms / 1_000)
    const usage = response === undefined ? undefined : extractUsage(response)
    if (usage === undefined) return
    tokens.add({ ...call, kind: 'input' }, usage.inputTokens)
    tokens.add({ ...call, kind: 'output' }, usage.outputTokens)
    tokens.add({ ...call, kind: 'cached_input' }, usage.cachedInputTokens)
  }
  monitor.observers.add(count)
  return { metrics: [calls, seconds, tokens], stop: () => void monitor.observers.delete(count) }
}

function gatewayGauges({ version, hooks, engine, platforms }: MetricsGateway): readonly Metric[] {
  const perHook = (value: (hook: HookStatus) => number) => () =>
    hooks.list().map((hook) => ({ labels: { hook: hook.name }, value: value(hook) }))
  return [
    createGauge({ name: 'hermes_build_info', help: 'Always 1. The version is a label.', labels: ['version'] }, () => [
      { labels: { version }, value: 1 },
    ]),
    createGauge(
      {
        name: 'hermes_platform_connected',
        help: '1 while every account of the platform is connected.',
        labels: ['platform'],
      },
      () =>
        Object.entries(platforms.health())
          .filter(([, { state }]) => state !== 'disabled')
          .map(([platform, { state }]) => ({ labels: { platform }, value: state === 'connected' ? 1 : 0 })),
    ),
    createGauge(
      { name: 'hermes_turns_active', help: 'Turns now. state: running, or waiting for a place.', labels: ['state'] },
      () => {
        const { running, waiting } = engine.load()
        return [
          { labels: { state: 'running' }, value: running },
          { labels: { state: 'waiting' }, value: waiting },
        ]
      },
    ),
    createCounterView(
      { name: 'hermes_hook_calls_total', help: 'Calls of gateway hooks.', labels: ['hook'] },
      perHook(({ fired }) => fired),
    ),
    createCounterView(
      { name: 'hermes_hook_failures_total', help: 'Failed calls of gateway hooks.', labels: ['hook'] },
      perHook(({ failed }) => failed),
    ),
    createGauge(
      { name: 'hermes_hook_waiting', help: 'Events that wait for a gateway hook.', labels: ['hook'] },
      perHook(({ waiting }) => waiting),
    ),
  ]
}

function queueGauges({ messages, replies }: Queues, now: number): readonly Metric[] {
  const ageOf = (since: number | null) => (since === null ? 0 : Math.max(0, now - since) / 1_000)
  return [
    createGauge(
      {
        name: 'hermes_queue_length',
        help: 'Open messages (inbox), replies (outbox) and dead letters (dead).',
        labels: ['queue'],
      },
      () => [
        { labels: { queue: 'inbox' }, value: messages.count },
        { labels: { queue: 'outbox' }, value: replies.open },
        { labels: { queue: 'dead' }, value: replies.dead },
      ],
    ),
    createGauge(
      {
        name: 'hermes_queue_oldest_seconds',
        help: 'Age of the oldest entry of a queue; 0 for an empty one.',
        labels: ['queue'],
      },
      () => [
        { labels: { queue: 'inbox' }, value: ageOf(messages.oldestAt) },
        { labels: { queue: 'outbox' }, value: ageOf(replies.oldestAt) },
      ],
    ),
  ]
}

/** The names that Prometheus' own clients use, where there is one. */
function processMetrics(delay: ReturnType<typeof monitorEventLoopDelay>): readonly Metric[] {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const single = (value: number) => () => [{ labels: {}, value }]
  const quantiles = [0.5, 0.99].map((quantile) => ({
    labels: { quantile: String(quantile) },
    value: delay.percentile(quantile * 100) / 1e9,
  }))
  delay.reset()
  return [
    createGauge(
      {
        name: 'hermes_event_loop_delay_seconds',
        help: 'Delay of a timer of 20 ms since the last scrape, the 20 ms included.',
        labels: ['quantile'],
      },
      () => quantiles,
    ),
    createGauge({ name: 'process_resident_memory_bytes', help: 'Resident memory.' }, single(rss)),
    createGauge({ name: 'nodejs_heap_size_used_bytes', help: 'Used heap of V8.' }, single(heapUsed)),
    createCounterView({ name: 'process_cpu_seconds_total', help: 'Processor time.' }, single((user + system) / 1e6)),
    createGauge(
      { name: 'process_start_time_seconds', help: 'Start, seconds since 1970.' },
      single(performance.timeOrigin / 1_000),
    ),
  ]
}
