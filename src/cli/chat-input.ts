/**
 * The prompt: what a person types or pastes into a terminal becomes whole messages.
 *
 * A paste of several lines is one message. Terminals that mark pastes tell us where they end; for the others, lines
 * that come within one blink belong together, and what was pasted without a line end waits for Enter.
 */
import { clearLine, createInterface, cursorTo } from 'node:readline'
import { sleep as systemPause } from '../lib/timers.ts'

export interface ChatInputOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** A whole message, never blank. */
  onMessage(text: string): void
  /** Ctrl-C; `empty` when nothing stood at the prompt. What stood there is gone. */
  onInterrupt(empty: boolean): void
  /** Ctrl-D, or the end of the input. */
  onEnd(): void
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface ChatInput {
  /** Shows the prompt, and what is typed already. */
  prompt(): void
  /** Prints above the prompt, which is shown again afterwards. */
  printAbove(print: () => void): void
  /** Gives the terminal back as it was. May be called twice. */
  close(): void
}

/** Lines of a paste follow each other faster than anybody types. */
const pasteGapMs = 40
const enableBracketedPaste = '\u001b[?2004h'
const disableBracketedPaste = '\u001b[?2004l'

export function createChatInput(options: ChatInputOptions): ChatInput {
  const { input, output, sleep = systemPause } = options
  const terminal = createInterface({ input, output, terminal: true, prompt: '› ', crlfDelay: Number.POSITIVE_INFINITY })
  let lines: string[] = []
  let pasting = false
  let closed = false

  const onKey = (_: unknown, key: { readonly name?: string } | undefined) => {
    if (key?.name === 'paste-start') pasting = true
    if (key?.name === 'paste-end') pasting = false
  }
  input.on('keypress', onKey)
  output.write(enableBracketedPaste)
  terminal.on('line', (line) => {
    lines.push(line)
    if (!pasting) void submitAfterPaste(lines.length)
  })
  terminal.on('SIGINT', () => {
    const empty = terminal.line === '' && lines.length === 0
    lines = []
    pasting = false
    // Ends the line and forgets what was typed.
    terminal.write(null, { ctrl: true, name: 'e' })
    terminal.write(null, { ctrl: true, name: 'u' })
    if (!empty) output.write('\n')
    options.onInterrupt(empty)
  })
  terminal.once('close', () => {
    const closedByUs = closed
    close()
    if (closedByUs) return
    submit()
    options.onEnd()
  })

  return {
    prompt: () => terminal.prompt(true),
    printAbove(print) {
      cursorTo(output, 0)
      clearLine(output, 0)
      print()
      if (!closed) terminal.prompt(true)
    },
    close,
  }

  async function submitAfterPaste(count: number): Promise<void> {
    await sleep(pasteGapMs)
    const settled = lines.length === count && !pasting && terminal.line === ''
    if (settled && !closed) submit()
  }

  function submit(): void {
    const text = lines.join('\n').trimEnd()
    lines = []
    if (text.trim() !== '') options.onMessage(text)
    else if (!closed) terminal.prompt()
  }

  function close(): void {
    if (closed) return
    closed = true
    input.off('keypress', onKey)
    output.write(disableBracketedPaste)
    terminal.close()
  }
}
