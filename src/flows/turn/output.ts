/**
 * What the user sees of a turn: typing, the growing draft and the tools while it runs, and the reply that ends it.
 * Progress is not stored, and it must not delay or break the turn.
 */
import type { AgentConfig } from '../../agent/config.ts'
import type { AgentResult } from '../../agent/loop/agent-turn.ts'
import type { ProgressListener } from '../../agent/loop/journal.ts'
import { ModelError } from '../../agent/models/provider.ts'
import type { SubagentResult } from '../../agent/support/subagent-result.ts'
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { toShortLine } from '../../lib/redact.ts'
import { linkAbortSignal } from '../../lib/timers.ts'
import { toolProgressModes } from '../../message/conversation-choices.ts'
import { type BackgroundTask, isAttended, type MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { isSilence, isSilenceNarration } from '../../message/silence.ts'
import { type Target, targetOf } from '../../message/source.ts'
import type { Usage } from '../../message/transcript.ts'
import type { CutOffReason, TurnStatus } from '../../message/turn-result.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { DraftAddress, Outbox, Reply } from '../../outbox/outbox.ts'
import { interimReplyKey } from '../../outbox/queries.ts'
import type { PlatformAdapter, TurnActivity } from '../../platforms/adapter.ts'
import type { SessionSettings } from '../../sessions/session-state.ts'
import type { TranscriptEntry } from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import { enlist, type TransactionPart } from '../../store/query.ts'
import type { GatewayEvents } from '../events/gateway-events.ts'
import type { DisplayConfig, DisplaySettings } from './config.ts'
import type { PrepareInterim, TurnCompletion } from './journal.ts'
import type { ModelOutages, TroubleWatch } from './model-outages.ts'
import type { TurnStatusDisplay } from './turn-status.ts'
import { emptyReply, failedModelResult, failure, interruptedMark, stoppedMark } from './without-answer.ts'

export interface TurnProgressDeps {
  readonly outbox: Outbox
  readonly events: Pick<GatewayEvents, 'emit' | 'emitsEvents' | 'activity'>
  readonly outages: Pick<ModelOutages, 'watch'>
  readonly settings: () => DisplayConfig & {
    readonly agent: Pick<AgentConfig['agent'], 'gateway_notify_interval'>
    /** In tokens. */
    readonly context_length: number
  }
  /** Whether the turn waits for an answer of a person. */
  isWaitingForUser(key: SessionKey): boolean
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly clock: () => number
  /** Returns the usage of the stored responses of a turn. Rejects `store/...`. */
  usageOf(turn: Pick<Turn, 'id' | 'sessionId'>): Promise<Usage>
  /** The adapter of a connected account. */
  adapter(target: Target): Pick<PlatformAdapter, 'activity'> | undefined
  /** Most turns have nothing to show. */
  readonly loadStatus: () => Promise<Pick<typeof import('./turn-status.ts'), 'createTurnStatusDisplay'>>
  readonly log: Logger
}

export interface TurnProgress {
  readonly listener: ProgressListener
  /** The text of the current response that the user has seen so far. */
  visibleText(): string
  readonly prepareInterim: PrepareInterim
  /** Prepares the reply that ends the turn, in place of the draft. */
  prepareReply(result: TurnRunResult): Promise<TransactionPart>
  /** Whether the chat shows what the model thinks. */
  showsThinking(): boolean
  /** Whether the agent has said something aloud by itself. */
  hasSpoken(): boolean
  /** Ends the draft of a turn that continues later. */
  closeDraft(): Promise<void>
  publishEnd(status: TurnStatus): void
  /** Ends typing. May be called twice. */
  close(): void
}

export function startTurnProgress(deps: TurnProgressDeps, turn: Turn, signal: AbortSignal): TurnProgress {
  const { outbox } = deps
  const { source, messageId } = turn.event
  const target = targetOf(source)
  const turnId = turn.id
  const typing = linkAbortSignal(signal)
  const showsInterim = () => turn.event.task === undefined && displayOf(deps, turn).interimMessages
  const earlier = ownTexts(turn)
  /** The number of texts that were sent as messages of their own. Each text has a draft of its own. */
  let part = earlier.length > 0 && showsInterim() ? earlier.length : 0
  /** The ordinal of the newest text before tool calls. */
  let lastOrd = earlier.at(-1)?.ord
  let draft = outbox.openDraft({ target, turnId, part, resumed: turn.resumed, replyTo: messageId })
  let trouble: TroubleWatch | undefined
  const withhold = withholdingBy(deps)
  const publish = (activity: TurnActivity) => publishActivity(deps, turn, target, activity)
  const status = createStatus(deps, turn, target, typing.signal)
  let text = ''
  let hasSpoken = turn.resumed && ownCalls(turn).includes('text_to_speech')
  const startedAt = deps.clock()

  outbox.showTyping(target, typing.signal, () => deps.isWaitingForUser(turn.sessionKey))
  publish({ kind: 'turn-started', turnId, messageId })

  return {
    listener: {
      onText(newest, isProvisional) {
        // Nor may a stopped turn send a provisional text that no draft shows.
        if (isProvisional && draft?.showsProvisionalText !== true) return
        text = newest
        draft?.update(newest)
      },
      onModelTrouble() {
        trouble ??= deps.outages.watch(turn)
        return trouble.begin()
      },
      onToolStart(call, label) {
        const tool = { callId: call.id, tool: call.name }
        publish({ kind: 'tool-started', turnId, ...tool, label: toShortLine(label, maxActivityChars, withhold) })
        status.show((display) => display.toolStarted({ ...tool, label, arguments: call.arguments }))
      },
      onToolEnd(call, ok, summary) {
        hasSpoken ||= ok && call.name === 'text_to_speech'
        const shown = toShortLine(summary, maxActivityChars, withhold)
        publish({ kind: 'tool-ended', turnId, callId: call.id, tool: call.name, ok, summary: shown })
        status.show((display) => display.toolEnded(call.id, ok, summary))
      },
      onIteration(iteration, tools) {
        if (!deps.events.emitsEvents(source)) return
        deps.events.emit('agent:step', {
          platform: source.platform,
          user_id: source.userId ?? '',
          session_id: turn.sessionId,
          iteration,
          tool_names: tools.map((tool) => tool.name),
          tools: [...tools],
        })
      },
    },
    visibleText: () => outbox.withholdPartial(text),
    async prepareInterim(interim, ord) {
      if (interim.trim() === '' || !showsInterim()) return null
      status.update((display) => display.textShown())
      const reply = toInterimReply(turn, interim, ord, (await draft?.close()) ?? null)
      const prepared = outbox.prepare({ ...reply, isContinuation: part > 0 })
      return {
        write: (now) => enlist(prepared, now),
        committed() {
          text = ''
          lastOrd = ord
          part += 1
          draft = outbox.openDraft({ target, turnId, part, replyTo: messageId })
        },
      }
    },
    async prepareReply(result) {
      const address = (await draft?.close()) ?? null
      const built = buildReply(turn, result, {
        draft: address,
        wasShown: draft?.wasShown() === true,
        filtersNarration: deps.settings().filter_silence_narration,
      })
      const footer = await footerOf(deps, turn, result, startedAt)
      const reply = { ...built, text: `${built.text}${footer}` }
      // The key of a text that was sent before tool calls, so that it is not sent again.
      const key = result.isEarlierText === true && lastOrd !== undefined ? interimReplyKey(turnId, lastOrd) : reply.key
      const whole = { ...reply, key, isContinuation: part > 0 }
      const others = turn.event.task?.alsoDeliver
      if (others === undefined) return outbox.prepare(whole)
      return (await import('./several-targets.ts')).prepareForAll(outbox, whole, others)
    },
    showsThinking: () => showsThinking(deps.settings().display, source.platform, turn.settings),
    hasSpoken: () => hasSpoken,
    async closeDraft() {
      await draft?.close()
    },
    publishEnd: (status) => publish({ kind: 'turn-ended', turnId, status, messageId }),
    close() {
      status.update((display) => display.end())
      trouble?.close()
      typing.release()
      // Without a reason, abort() would create an error with a stack for each turn.
      typing.abort('the turn has ended')
    },
  }
}

/** Limits a label and a result, for platforms that show tools live. */
const maxActivityChars = 200

/** Takes out known secrets, and what looks like one. */
function withholdingBy({ outbox, redact }: Pick<TurnProgressDeps, 'outbox' | 'redact'>): (text: string) => string {
  return (text) => redact(outbox.withhold(text))
}

interface Status {
  /** Loads the display if the conversation shows something. */
  show(change: (display: TurnStatusDisplay) => void): void
  /** Only if it was loaded. */
  update(change: (display: TurnStatusDisplay) => void): void
}

/** The messages that show what the turn does. They neither delay nor break it. */
function createStatus(deps: TurnProgressDeps, turn: Turn, target: Target, ended: AbortSignal): Status {
  const { outbox, sleep, log } = deps
  const redact = withholdingBy(deps)
  const hasReader = isAttended(turn.event)
  let loading: Promise<TurnStatusDisplay> | undefined

  const status: Status = {
    show(change) {
      if (!hasReader || !outbox.takesStatus(target)) return
      const settings = displayOf(deps, turn)
      if (settings.toolProgress === 'off' && !settings.longRunningNotifications) return
      loading ??= deps
        .loadStatus()
        .then(({ createTurnStatusDisplay }) =>
          createTurnStatusDisplay(outbox, redact, log, { turnId: turn.id, target, settings }),
        )
      status.update(change)
    },
    update(change) {
      loading?.then(change).catch((error: unknown) => {
        log.warn({ event: 'turn.status_failed', turn: turn.id, err: error }, 'a status message cannot be shown')
      })
    },
  }
  // A crash may have left messages that say that a tool runs.
  if (turn.resumed && outbox.leftStatuses(turn.id).length > 0) status.show(() => undefined)
  // Before the chat is told what a turn does, and between two such notices; 0 for never.
  const intervalMs = deps.settings().agent.gateway_notify_interval * 1_000
  if (hasReader && intervalMs > 0) void watchDuration()
  return status

  async function watchDuration(): Promise<void> {
    for (let elapsedMs = intervalMs; ; elapsedMs += intervalMs) {
      await sleep(intervalMs, ended)
      if (ended.aborted) return
      const isDue = displayOf(deps, turn).longRunningNotifications && !deps.isWaitingForUser(turn.sessionKey)
      if (isDue) status.show((display) => display.stillWorking(elapsedMs))
    }
  }
}

function displayOf(
  { settings }: Pick<TurnProgressDeps, 'settings'>,
  { event, settings: chosen }: Turn,
): DisplaySettings {
  return displaySettings(settings(), event.source.platform, chosen)
}

/** What one conversation shows. A choice for it takes precedence over the platform, and the platform over the rest. */
export function displaySettings(
  { display }: DisplayConfig,
  platform: string,
  { tool_progress: chosenProgress }: SessionSettings = {},
): DisplaySettings {
  const platformDisplay = display.platforms[platform] ?? {}
  const configured = platformDisplay.tool_progress ?? display.tool_progress
  return {
    interimMessages: platformDisplay.interim_assistant_messages ?? display.interim_assistant_messages,
    toolProgress: toolProgressModes.find((mode) => mode === (chosenProgress ?? configured)) ?? 'off',
    grouping: platformDisplay.tool_progress_grouping ?? display.tool_progress_grouping,
    previewLength: platformDisplay.tool_preview_length ?? display.tool_preview_length,
    cleansUp: platformDisplay.cleanup_progress ?? display.cleanup_progress,
    longRunningNotifications: platformDisplay.long_running_notifications ?? display.long_running_notifications,
    footerFields: platformDisplay.runtime_footer?.fields ?? display.runtime_footer.fields,
  }
}

/** Whether the line below an answer is shown; decided as for the others. */
export function showsFooter(
  { runtime_footer: footer, platforms }: DisplayConfig['display'],
  platform: string,
  { footer: chosen }: SessionSettings,
): boolean {
  return chosen === undefined ? (platforms[platform]?.runtime_footer?.enabled ?? footer.enabled) : chosen === 'on'
}

/** Whether the thinking of the model is shown; decided as for the footer. */
export function showsThinking(
  { show_reasoning: configured, platforms }: DisplayConfig['display'],
  platform: string,
  { show_reasoning: chosen }: SessionSettings,
): boolean {
  return chosen === undefined ? (platforms[platform]?.show_reasoning ?? configured) : chosen === 'yes'
}

/** The names of the tools that an interrupted turn has called. */
function ownCalls({ id, transcript }: Turn): string[] {
  return transcript.flatMap(({ turnId, message }) =>
    turnId === id && message.role === 'assistant' ? (message.toolCalls ?? []).map(({ name }) => name) : [],
  )
}

/** '' where none is shown. Never rejects. */
async function footerOf(deps: TurnProgressDeps, turn: Turn, result: TurnRunResult, startedAt: number): Promise<string> {
  const { clock, log, outbox, settings, usageOf } = deps
  const { source } = turn.event
  const isAnswer = result.state === 'done' && !result.notice && result.model !== '' && turn.event.task === undefined
  if (!isAnswer || !showsFooter(settings().display, source.platform, turn.settings)) return ''
  if (!outbox.takesStatus(targetOf(source))) return ''
  try {
    const duration = clock() - startedAt
    const [{ formatFooter }, earlierUsage] = await Promise.all([import('./footer.ts'), usageOf(turn)])
    const { model, usage } = result
    return formatFooter(displayOf(deps, turn).footerFields, {
      model,
      usage,
      earlierUsage,
      duration,
      contextLength: result.contextLength ?? settings().context_length,
    })
  } catch (error) {
    log.warn({ event: 'turn.footer_failed', turn: turn.id, err: error }, 'an answer is sent without its footer')
    return ''
  }
}

function publishActivity(
  { adapter, events, log }: TurnProgressDeps,
  turn: Turn,
  target: Target,
  activity: TurnActivity,
): void {
  events.activity(turn, activity)
  try {
    adapter(target)?.activity?.(target, activity)
  } catch (error) {
    const { platform } = target
    log.warn(
      { event: 'turn.activity_failed', platform, err: error },
      'an adapter failed to show the activity of a turn',
    )
  }
}

/** The responses of an interrupted turn that have a text. */
function ownTexts({ id, transcript }: Turn): TranscriptEntry[] {
  return transcript.filter(
    ({ turnId, message }) => turnId === id && message.role === 'assistant' && message.content.trim() !== '',
  )
}

export interface ReplyContent extends Pick<TurnCompletion, 'state' | 'text' | 'message' | 'cutOff'> {
  /** The text is the gateway's, not the model's. */
  readonly notice: boolean
  /** The last response has no text: the final answer is the text before the last tool calls. */
  readonly isEarlierText?: boolean
}

/** How a turn ends. */
export type TurnRunResult = TurnCompletion &
  ReplyContent & {
    readonly iterations: number
    /** `agent:start` was emitted, so `agent:end` is due. */
    readonly announced: boolean
    /** What the model thought, for the user only. Absent or '': none is shown. */
    readonly thinking?: string
    /** The window of the model that answered in tokens, unless it is `context_length`. */
    readonly contextLength?: number | undefined
    /** Only of a sub-agent. */
    readonly subagent?: SubagentResult
  }

export function completedResult(result: AgentResult) {
  const { text, message, usage, iterations, finishReason } = result
  if (text === '' && finishReason === 'content_filter') {
    const failed = failedModelResult(new ModelError('content-filter', 'The response is empty.'))
    return { ...failed, usage, iterations }
  }
  // The text before the last tool calls announces work; it is no answer.
  if (finishReason === 'max_iterations' && message.content.trim() === '') {
    // The last call asked for the answer.
    const error = new HermesError('agent/max-iterations', `The limit is ${iterations - 1}.`)
    return { ...failure(error), reason: error.message, usage, iterations }
  }
  if (text.trim() !== '') {
    const isEarlierText = message.content.trim() === ''
    const cutOff = cutOffReasonOf(finishReason)
    const done = {
      state: 'done' as const,
      reason: null,
      text,
      message,
      usage,
      iterations,
      notice: false,
      isEarlierText,
    }
    return cutOff === undefined ? done : { ...done, cutOff }
  }
  return { ...emptyReply, usage, iterations }
}

function cutOffReasonOf(finishReason: string): CutOffReason | undefined {
  return finishReason === 'length' || finishReason === 'content_filter' ? finishReason : undefined
}

/** The text of a response with tool calls, as a message above the tools. */
function toInterimReply(
  { id, sessionKey, event, authority }: Turn,
  text: string,
  ord: number,
  draft: DraftAddress | null,
): Reply {
  const { source, messageId } = event
  return {
    key: interimReplyKey(id, ord),
    target: targetOf(source),
    sessionKey,
    turnId: id,
    authority,
    kind: 'reply',
    text,
    replyTo: messageId,
    ...(draft === null ? {} : { draft }),
  }
}

interface ReplyOptions {
  readonly draft: DraftAddress | null
  /** The chat has shown a part of the reply. */
  readonly wasShown: boolean
  readonly filtersNarration: boolean
}

/** The reply that ends a turn. A blank text sends nothing. */
function buildReply(turn: Turn, content: ReplyContent, options: ReplyOptions): Reply {
  const { event } = turn
  const { draft, filtersNarration } = options
  const { task, messageId } = event
  return {
    key: `turn:${turn.id}`,
    target: task?.deliver ?? targetOf(event.source),
    sessionKey: turn.sessionKey,
    turnId: turn.id,
    authority: turn.authority,
    kind: content.notice ? 'notice' : 'reply',
    text: task === undefined ? replyTo(event, content, options) : taskReplyText(task, event, content, filtersNarration),
    isUnsolicited: task !== undefined,
    replyTo: messageId,
    ...(draft === null ? {} : { draft }),
  }
}

/** An incomplete answer must not look like a complete one. */
const cutOffTexts: Readonly<Record<CutOffReason, string>> = {
  length: 'cut off: the model reached the limit of its output',
  content_filter: 'cut off by the content filter of the provider',
}

/** A turn that is stopped between two attempts has no text of its own, but may still show the draft of the last attempt. */
function replyText({ state, text, cutOff }: ReplyContent, wasShown: boolean): string {
  if (cutOff !== undefined) return `${text}\n\n*(${cutOffTexts[cutOff]})*`
  if (state === 'interrupted') return wasShown ? text || interruptedMark : ''
  return state === 'stopped' && text === '' && wasShown ? stoppedMark : text
}

/** Two bots would answer the silence of each other. A draft that was shown cannot be taken back. */
function replyTo(
  { source }: MessageEvent,
  content: ReplyContent,
  { wasShown, filtersNarration }: ReplyOptions,
): string {
  const isDropped = source.isBot === true && !wasShown && filtersNarration && isSilenceNarration(content.text)
  return isDropped ? '' : replyText(content, wasShown)
}

/** A failure names the task, because no user followed it. */
function taskReplyText(
  task: BackgroundTask,
  { source }: MessageEvent,
  { state, text, notice }: ReplyContent,
  filtersNarration: boolean,
): string {
  if (task.deliver === null || text === '') return ''
  if (notice || state !== 'done') {
    return `⚠️ A background task (${toMarkdownLabel(source.userName ?? 'unnamed')}, ${task.id}) was not completed.\n\n${text}`
  }
  const isSilent = isSilence(text) || (filtersNarration && isSilenceNarration(text))
  if (task.isRequested !== true) return isSilent ? '' : text
  return `✅ Background task complete (\`${task.id}\`)\n\n${isSilent ? 'There is nothing to report.' : text}`
}
