/**
 * The prompt of the terminal chat: turns typed and pasted lines into messages.
 *
 * A paste of several lines is one message. Most terminals mark the start and the end of a paste. For the others, lines that
 * arrive within a few milliseconds belong together, and a last line without a line break waits for Enter.
 */
import { clearLine, createInterface, cursorTo } from 'node:readline'
import { sleep as realSleep } from '../lib/timers.ts'

export interface ChatInputOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** A whole message, never blank. */
  onMessage(text: string): void
  /** Ctrl-C, which clears the prompt. `empty`: the prompt was empty. */
  onInterrupt(empty: boolean): void
  /** Ctrl-D, or the end of the input. */
  onEnd(): void
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface ChatInput {
  /** Shows the prompt and the text typed so far. */
  prompt(): void
  /** Prints above the prompt and shows the prompt again. */
  printAbove(print: () => void): void
  /** Restores the terminal. May be called twice. */
  close(): void
}

/** Shorter than the interval between two typed lines. */
const pasteGapMs = 40
const enableBracketedPaste = '\u001b[?2004h'
const disableBracketedPaste = '\u001b[?2004l'

export function createChatInput(options: ChatInputOptions): ChatInput {
  const { input, output, sleep = realSleep } = options
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
    // Ctrl-E and Ctrl-U move to the end of the line and delete it.
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
    const isComplete = lines.length === count && !pasting && terminal.line === ''
    if (isComplete && !closed) submit()
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
