/**
 * The prompt of the terminal chat: turns typed and pasted lines into messages.
 *
 * A backslash at the end of a line continues the message on the next line. A paste of several lines is one message. Most terminals mark the start and the end of a paste. For the others, lines that
 * arrive within a few milliseconds belong together, and a last line without a line break waits for Enter.
 */
import { clearLine, createInterface, cursorTo } from 'node:readline'
import { Writable } from 'node:stream'
import { messageOf } from '../../lib/errors.ts'
import { sleep as realSleep } from '../../lib/timers.ts'
import type { ChatCompleter } from './chat-completion.ts'
import type { InputHistory } from './input-history.ts'

export interface ChatInputOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** A whole message, never blank. */
  onMessage(text: string): void
  /** Ctrl-C, which clears the prompt. `empty`: the prompt was empty. */
  onInterrupt(empty: boolean): void
  /** Ctrl-D, or the end of the input. */
  onEnd(): void
  /** Tab. */
  readonly complete?: ChatCompleter | undefined
  /** The lines of earlier chats, for the arrow keys. */
  readonly history?: InputHistory | undefined
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
}

export interface ChatInput {
  /** Shows the prompt and the text typed so far. */
  prompt(): void
  /** Hides the prompt and what is typed, until `prompt`. Otherwise it would be mixed into an answer that is being printed. */
  hide(): void
  /** Removes the prompt and what is typed from the screen. */
  clear(): void
  /** Prints above the prompt and shows the prompt again. */
  printAbove(print: () => void): void
  /** Restores the terminal. May be called twice. */
  close(): void
}

/** Shorter than the interval between two typed lines. */
const pasteGapMs = 40
const firstPrompt = '› '
const nextPrompt = '… '
const enableBracketedPaste = '\u001b[?2004h'
const disableBracketedPaste = '\u001b[?2004l'

export function createChatInput(options: ChatInputOptions): ChatInput {
  const { input, output, complete, history, sleep = realSleep } = options
  const screen = createPromptScreen(output)
  const terminal = createInterface({
    input,
    output: screen.output,
    terminal: true,
    prompt: firstPrompt,
    crlfDelay: Number.POSITIVE_INFINITY,
    removeHistoryDuplicates: true,
    history: history?.read().toReversed() ?? [],
    ...(complete === undefined ? {} : { completer: toCompleter(complete) }),
  })
  let lines: string[] = []
  let pasting = false
  let closed = false
  let historyFailed = false

  const onKey = (_: unknown, key: { readonly name?: string } | undefined) => {
    if (key?.name === 'paste-start') pasting = true
    if (key?.name === 'paste-end') pasting = false
  }
  input.on('keypress', onKey)
  output.write(enableBracketedPaste)
  terminal.on('line', (line) => {
    const isContinued = !pasting && /(?<!\\)(?:\\\\)*\\$/.test(line)
    lines.push(isContinued ? line.slice(0, -1) : line)
    if (isContinued) continueMessage()
    else if (!pasting) void submitAfterPaste(lines.length)
  })
  // The list may be changed: pasted lines are no entries.
  terminal.on('history', (entries: string[]) => {
    if (pasting) entries.shift()
  })
  terminal.on('SIGINT', () => {
    const empty = terminal.line === '' && lines.length === 0
    lines = []
    pasting = false
    terminal.setPrompt(firstPrompt)
    // Ctrl-E and Ctrl-U move to the end of the line and delete it.
    terminal.write(null, { ctrl: true, name: 'e' })
    terminal.write(null, { ctrl: true, name: 'u' })
    if (!empty && !screen.hidden()) output.write('\n')
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
    prompt() {
      screen.show()
      terminal.prompt(true)
    },
    hide: screen.hide,
    clear,
    printAbove(print) {
      clear()
      print()
      if (!closed) terminal.prompt(true)
    },
    close,
  }

  function clear(): void {
    cursorTo(output, 0)
    clearLine(output, 0)
  }

  async function submitAfterPaste(count: number): Promise<void> {
    await sleep(pasteGapMs)
    const isComplete = lines.length === count && !pasting && terminal.line === ''
    if (isComplete && !closed) submit()
  }

  function continueMessage(): void {
    terminal.setPrompt(nextPrompt)
    terminal.prompt()
  }

  function submit(): void {
    const text = lines.join('\n').trimEnd()
    if (lines.length === 1) remember(text)
    lines = []
    terminal.setPrompt(firstPrompt)
    if (text.trim() !== '') options.onMessage(text)
    else if (screen.hidden()) return
    else if (!closed) terminal.prompt()
  }

  /** An arrow key offers lines, so a message of several lines is no entry. */
  function remember(line: string): void {
    if (line.trim() === '' || history === undefined) return
    history.add(line).catch((error: unknown) => {
      if (!historyFailed) output.write(`The history of the chat cannot be written: ${messageOf(error)}\n`)
      historyFailed = true
    })
  }

  function close(): void {
    if (closed) return
    closed = true
    input.off('keypress', onKey)
    output.write(disableBracketedPaste)
    terminal.close()
  }
}

function toCompleter(complete: ChatCompleter) {
  return (line: string, done: (error: Error | null, result: [string[], string]) => void): void => {
    complete(line).then(
      ([completions, completed]) => done(null, [completions, completed]),
      () => done(null, [[], line]),
    )
  }
}

/** The output of the prompt. While it is hidden, it has one endless row, so that a long line moves the cursor of no row. */
function createPromptScreen(output: NodeJS.WritableStream & { readonly columns?: number }) {
  let hidden = false
  const screen = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      if (!hidden) output.write(chunk)
      done()
    },
  })
  Object.defineProperty(screen, 'columns', {
    get: () => (hidden ? Number.POSITIVE_INFINITY : (output.columns ?? Number.POSITIVE_INFINITY)),
  })
  output.on('resize', () => screen.emit('resize'))
  return {
    output: screen,
    hidden: () => hidden,
    hide() {
      hidden = true
    },
    show() {
      hidden = false
    },
  }
}
