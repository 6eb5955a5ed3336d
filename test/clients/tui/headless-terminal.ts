/**
 * A terminal without a window: what is written to it can be read as the lines that a person would see.
 */
import { StdinBuffer, type Terminal } from '@earendil-works/pi-tui'
import xterm from '@xterm/headless'
import { waitLimitMs } from '../../kit/wait-limit.ts'

export interface HeadlessTerminal extends Terminal {
  /** The rows of the screen, without spaces at their ends. */
  screen(): Promise<string[]>
  /** Resolves with the screen once it matches. */
  until(pattern: RegExp): Promise<string>
  type(text: string): void
  resize(columns: number, rows: number): void
  /** The sequences that a terminal obeys beyond drawing: titles, the clipboard, links and device requests. */
  readonly obeyed: readonly string[]
  /** Everything that was written. */
  written(): string
  readonly isStarted: boolean
}

export function createHeadlessTerminal(columns = 80, rows = 24): HeadlessTerminal {
  const emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 5_000 })
  const obeyed: string[] = []
  let written = ''
  let isStarted = false
  let onInput: (data: string) => void = () => undefined
  let onResize: () => void = () => undefined
  let looks: (() => void)[] = []
  // Splits the input like the terminal of a process does.
  const keys = new StdinBuffer()
  keys.on('data', (sequence) => onInput(sequence))
  keys.on('paste', (text) => onInput(`\u001b[200~${text}\u001b[201~`))
  for (const code of [0, 1, 2, 8, 9, 52, 777, 1337]) {
    emulator.parser.registerOscHandler(code, (data) => {
      // The end of a link, which resets what was never opened.
      if (!(code === 8 && data === ';')) obeyed.push(`OSC ${code} ${data}`)
      return true
    })
  }
  emulator.onData((data) => obeyed.push(`answer ${JSON.stringify(data)}`))
  emulator.onBell(() => obeyed.push('bell'))

  const screenNow = () => {
    const { active } = emulator.buffer
    return Array.from(
      { length: emulator.rows },
      (_, row) => active.getLine(active.viewportY + row)?.translateToString(true) ?? '',
    )
  }
  const flushed = () => new Promise<void>((resolve) => emulator.write('', resolve))

  return {
    start(input, resize) {
      isStarted = true
      onInput = input
      onResize = resize
    },
    stop() {
      isStarted = false
    },
    drainInput: () => Promise.resolve(),
    write(data) {
      written += data
      emulator.write(data, () => {
        const due = looks
        looks = []
        for (const look of due) look()
      })
    },
    get columns() {
      return emulator.cols
    },
    get rows() {
      return emulator.rows
    },
    kittyProtocolActive: false,
    moveBy: () => undefined,
    hideCursor: () => undefined,
    showCursor: () => undefined,
    clearLine: () => undefined,
    clearFromCursor: () => undefined,
    clearScreen: () => undefined,
    setTitle: (title) => obeyed.push(`title ${title}`),
    setProgress: () => undefined,
    async screen() {
      await flushed()
      return screenNow()
    },
    async until(pattern) {
      const timeout = AbortSignal.timeout(waitLimitMs())
      for (;;) {
        await flushed()
        const text = screenNow().join('\n')
        if (pattern.test(text)) return text
        if (timeout.aborted) throw new Error(`The screen never matched ${pattern}:\n${text}`)
        await new Promise<void>((resolve) => {
          looks.push(resolve)
          timeout.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    },
    type: (text) => keys.process(text),
    resize(width, height) {
      emulator.resize(width, height)
      onResize()
    },
    obeyed,
    written: () => written,
    get isStarted() {
      return isStarted
    },
  }
}
