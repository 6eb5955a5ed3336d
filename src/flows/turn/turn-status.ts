/**
 * Shows in the chat what a turn does: its tools, and how long it has been working. These messages are not a part of the
 * conversation. Loaded when there is something to show.
 */
import { formatDuration } from '../../lib/duration.ts'
import type { Logger } from '../../lib/log.ts'
import { toShortLine } from '../../lib/redact.ts'
import type { ToolProgressMode } from '../../message/conversation-choices.ts'
import type { Target } from '../../message/source.ts'
import type { Outbox, StatusMessage, StatusOptions } from '../../outbox/outbox.ts'
import type { DisplaySettings } from './config.ts'

/** The turn that is shown, and how. */
export interface ShownTurn {
  readonly turnId: string
  readonly target: Target
  readonly settings: Pick<DisplaySettings, 'toolProgress' | 'grouping' | 'previewLength' | 'cleansUp'>
}

/** Its functions return at once and do not throw. */
export interface TurnStatusDisplay {
  toolStarted(tool: StartedTool): void
  toolEnded(callId: string, ok: boolean, summary: string): void
  /** The model has written a text. The next tool is shown in a new message below it. */
  textShown(): void
  /** The turn has taken this long, ms. */
  stillWorking(elapsedMs: number): void
  /** The turn has ended, or continues later. */
  end(): void
}

/** Tools that end earlier, with the turn or before the next text, are not shown. */
const toolDelayMs = 500
const maxActivityChars = 100

/**
 * Removes what an earlier attempt of the turn has left in the chat, or marks it as ended.
 * @param redact takes secrets out of a text
 */
export function createTurnStatusDisplay(
  outbox: Pick<Outbox, 'openStatus' | 'leftStatuses'>,
  redact: (text: string) => string,
  log: Logger,
  { turnId, target, settings }: ShownTurn,
): TurnStatusDisplay {
  const left = outbox.leftStatuses(turnId)
  for (const index of left)
    createMessage(outbox, log, { target, turnId, index, delayMs: 0 }).end('↻ The gateway restarted here.', {
      remove: true,
    })
  let nextIndex = Math.max(-1, ...left) + 1
  const open = (delayMs: number) => {
    const index = nextIndex
    nextIndex += 1
    return createMessage(outbox, log, { target, turnId, index, delayMs })
  }

  const tools = createToolMessages(settings, redact, () => open(toolDelayMs))
  const running = new Map<string, string>()
  let notice: LazyStatus | undefined
  let elapsed = 0

  return {
    toolStarted(tool) {
      running.set(tool.callId, describeTool(tool, redact))
      tools?.started(tool)
    },
    toolEnded(callId, ok, summary) {
      running.delete(callId)
      tools?.ended(callId, ok, summary)
    },
    textShown: () => tools?.close(false),
    stillWorking(elapsedMs) {
      elapsed = elapsedMs
      const activity = [...running.values()].at(-1)
      const text = `⏳ Still working (${formatDuration(elapsedMs)})${activity === undefined ? '' : `: ${activity}`}`
      // A platform that cannot edit messages gets a new one.
      if (notice?.canChange() === false) notice = undefined
      notice ??= open(0)
      notice.update(text)
    },
    end() {
      tools?.close(true)
      notice?.end(`Worked for ${formatDuration(elapsed)}.`, { remove: true })
    },
  }
}

function describeTool({ tool, label }: StartedTool, redact: (text: string) => string): string {
  const subject = toShortLine(label, maxActivityChars, redact)
  return `${formatTool(tool)}${subject === '' ? '' : ` ${formatCode(subject)}`}`
}

/** One message of the tools. */
interface ToolMessage {
  readonly lines: ToolLines
  readonly message: LazyStatus
}

/** Undefined where tools are not shown. */
function createToolMessages(
  { toolProgress: mode, grouping, previewLength, cleansUp }: ShownTurn['settings'],
  redact: (text: string) => string,
  open: () => LazyStatus,
) {
  if (mode === 'off') return undefined
  const isSeparate = grouping === 'separate'
  let messages: ToolMessage[] = []
  /** The message with the tools since the last text. */
  let current: ToolMessage | undefined

  function show({ lines, message }: ToolMessage): void {
    message.update(lines.text(), isSeparate ? lines.fixedText() : '')
  }

  return {
    started(tool: StartedTool): void {
      if (current === undefined || isSeparate) {
        current = { lines: createToolLines(mode, redact, previewLength), message: open() }
        messages.push(current)
      }
      current.lines.start(tool)
      show(current)
    },
    ended(callId: string, ok: boolean, summary: string): void {
      const ended = messages.find(({ lines }) => lines.end(callId, ok, summary))
      if (ended !== undefined) show(ended)
    },
    /** The messages of a turn that goes on stay until its end, if they are to be removed then. */
    close(isTurnEnd: boolean): void {
      current = undefined
      if (cleansUp && !isTurnEnd) return
      for (const { lines, message } of messages) {
        lines.interrupt()
        message.end(lines.text(), { remove: cleansUp })
      }
      messages = []
    },
  }
}

/** A status message whose module may still be loading. The calls keep their order. */
interface LazyStatus {
  /** Undefined while this is not known. */
  canChange(): boolean | undefined
  /** @param fixedText shown where the platform cannot edit messages; '' shows nothing there. Default: the text */
  update(text: string, fixedText?: string): void
  end(text: string, options: { readonly remove: boolean }): void
}

function createMessage(outbox: Pick<Outbox, 'openStatus'>, log: Logger, options: StatusOptions): LazyStatus {
  let canChange: boolean | undefined
  const opening = outbox.openStatus(options).then((message) => {
    canChange = message.canChange
    return message
  })
  const use = (call: (message: StatusMessage) => void) => {
    const used = opening.then(call)
    used.catch((error: unknown) => {
      log.warn({ event: 'turn.status_failed', turn: options.turnId, err: error }, 'a status message cannot be shown')
    })
  }
  return {
    canChange: () => canChange,
    update: (text, fixedText = text) => use((message) => message.update(message.canChange ? text : fixedText)),
    end: (text, how) => use((message) => message.end(text, how)),
  }
}

export interface StartedTool {
  readonly callId: string
  readonly tool: string
  /** What it works on; '' for a tool that does not say. */
  readonly label: string
  /** JSON. */
  readonly arguments: string
}

export interface ToolLines {
  start(tool: StartedTool): void
  /** False for a call that has no line here. */
  end(callId: string, ok: boolean, summary: string): boolean
  /** Calls that run did not end. */
  interrupt(): void
  /** '' without a line. */
  text(): string
  /** Returns the same as `text`, for a message that will never change. */
  fixedText(): string
}

interface Line {
  readonly tool: string
  readonly detail: string
  readonly running: Set<string>
  calls: number
  state: 'running' | 'ok' | 'failed' | 'interrupted'
  result: string
}

const icons = { running: '⏳', ok: '✓', failed: '✗', interrupted: '⏹' } as const

/** Together they fit into a message of every platform. */
const maxLines = 12
const maxDetailChars = 60
const maxVerboseLines = 5
const maxVerboseChars = 150

/**
 * The lines that show the tools of a turn, as Markdown.
 * @param redact takes secrets out of a text
 * @param previewLength `display.tool_preview_length`
 */
export function createToolLines(
  mode: Exclude<ToolProgressMode, 'off'>,
  redact: (text: string) => string,
  previewLength = 0,
): ToolLines {
  const lines: Line[] = []
  const isVerbose = mode === 'verbose'
  const maxChars = previewLength > 0 ? previewLength : isVerbose ? maxVerboseChars : maxDetailChars
  const shorten = (text: string) => toShortLine(text, maxChars, redact)

  return {
    start({ callId, tool, label, arguments: args }) {
      const last = lines.at(-1)
      if (mode === 'new' && last?.tool === tool) {
        last.running.add(callId)
        last.calls += 1
        last.state = 'running'
        return
      }
      const detail = mode === 'new' ? '' : shorten(label === '' && isVerbose && args !== '{}' ? args : label)
      lines.push({ tool, detail, running: new Set([callId]), calls: 1, state: 'running', result: '' })
    },
    end(callId, ok, summary) {
      const line = lines.find(({ running }) => running.delete(callId))
      if (line === undefined) return false
      if (line.running.size === 0) line.state = ok ? 'ok' : 'failed'
      if (isVerbose) line.result = shorten(summary)
      return true
    },
    interrupt() {
      for (const line of lines) if (line.state === 'running') line.state = 'interrupted'
    },
    text: () => format(({ state }) => icons[state]),
    fixedText: () => format(() => '🔧'),
  }

  function format(iconOf: (line: Line) => string): string {
    const shown = lines.slice(-(isVerbose ? maxVerboseLines : maxLines))
    const hidden = lines.length - shown.length
    const formatted = shown.map((line) => formatLine(line, iconOf(line)))
    return [...(hidden > 0 ? [`… ${hidden} earlier`] : []), ...formatted].join('\n')
  }
}

function formatLine({ tool, detail, calls, result }: Line, icon: string): string {
  const times = calls > 1 ? ` ×${calls}` : ''
  const subject = detail === '' ? '' : ` ${formatCode(detail)}`
  return `${icon} ${formatTool(tool)}${times}${subject}${result === '' ? '' : `\n→ ${formatCode(result)}`}`
}

/** The tool and what it works on, without a state. */
export function formatTool(tool: string): string {
  return `**${tool.replace(/[^\w.:-]/g, '').slice(0, 64)}**`
}

/** The text of a tool is shown as code, so that none of it is taken for markup or a mention. */
export function formatCode(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``
}
