/**
 * The lines that show the tools of a turn in a chat, as Markdown.
 */
import { toShortLine } from '../../lib/redact.ts'
import type { ToolProgressMode } from '../../message/conversation-choices.ts'

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
