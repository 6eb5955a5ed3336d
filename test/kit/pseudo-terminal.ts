/**
 * Runs `hermes` on a pseudo-terminal, as a shell does, and reads the screen that a person would see.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pty from '@lydell/node-pty'
import xterm from '@xterm/headless'

export interface TerminalProcess {
  readonly pid: number
  /** The time from the start until a text was drawn, ms. Never resolves without it. */
  timeOf(text: string): Promise<number>
  readonly exited: Promise<{ readonly exitCode: number; readonly signal?: number | undefined }>
  type(text: string): void
  /** Everything that was written. */
  written(): string
  /** Resolves with the screen once it matches. Rejects when it does not in time. */
  until(pattern: RegExp): Promise<string>
  kill(signal: string): void
}

export interface TerminalProcessOptions {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
  readonly cwd?: string
}

const main = fileURLToPath(new URL('../../src/main.mjs', import.meta.url))
const timeoutMs = 30_000
const pollMs = 20

/** `hermes` with these arguments. Throws when the system opens no pseudo-terminal. */
export function runHermesInTerminal({ args, ...options }: TerminalProcessOptions): TerminalProcess {
  return runInTerminal({ ...options, args: [main, ...args] })
}

/** Node with these arguments. Throws as `runHermesInTerminal`. */
export function runInTerminal(options: TerminalProcessOptions): TerminalProcess {
  const { args, environment, columns: cols = 80, rows = 24, cwd = process.cwd() } = options
  const emulator = new xterm.Terminal({ cols, rows, allowProposedApi: true })
  const begun = performance.now()
  const env = { PATH: process.env['PATH'] ?? '', TERM: 'xterm-256color', ...environment }
  const child = pty.spawn(process.execPath, [...args], { cols, rows, cwd, env })
  let looks: (() => void)[] = []
  const exited = Promise.withResolvers<{ exitCode: number; signal?: number | undefined }>()
  let written = ''
  child.onData((data) => {
    written += data
    emulator.write(data)
    for (const look of looks) look()
  })
  child.onExit(exited.resolve)

  const screen = async () => {
    await new Promise<void>((resolve) => emulator.write('', resolve))
    const { active } = emulator.buffer
    return Array.from({ length: rows }, (_, row) =>
      active.getLine(row + active.viewportY)?.translateToString(true),
    ).join('\n')
  }
  return {
    pid: child.pid,
    timeOf: (text) =>
      new Promise((resolve) => {
        looks = [...looks, () => written.includes(text) && resolve(performance.now() - begun)]
      }),
    exited: exited.promise,
    type: (text) => child.write(text),
    written: () => written,
    async until(pattern) {
      const end = performance.now() + timeoutMs
      for (;;) {
        const text = await screen()
        if (pattern.test(text)) return text
        if (performance.now() > end) throw new Error(`The screen never matched ${pattern}:\n${text}`)
        await pause(pollMs)
      }
    },
    kill: (signal) => child.kill(signal),
  }
}

/** Why no pseudo-terminal can be opened, or undefined. */
export function findTerminalProblem(): string | undefined {
  try {
    pty.spawn(process.execPath, ['-e', '0'], {}).kill('SIGKILL')
    return undefined
  } catch (error) {
    return `no pseudo-terminal can be opened: ${error instanceof Error ? error.message : String(error)}`
  }
}
