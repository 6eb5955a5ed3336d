/**
 * Where commands run (seed 004, `BaseEnvironment`): two methods, so that a container or a remote host can stand in.
 */
export interface ExecuteOptions {
  /** Absolute, or relative to the environment's own folder. Without it the environment's folder. */
  readonly cwd?: string
  readonly timeoutMs: number
  /** Ends the command and everything it started. */
  readonly signal: AbortSignal
  /** Bytes of output kept; the middle of a longer output is left out, with a line that says so. */
  readonly maxOutputBytes: number
}

export interface ExecuteResult {
  /** stdout and stderr in the order they came, as text; invalid UTF-8 is replaced. */
  readonly output: string
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly timedOut: boolean
  readonly aborted: boolean
}

/** A command that goes on while the agent does other things. */
export interface BackgroundCommand {
  readonly pid: number
  /** Resolves when it has ended. Never rejects. */
  readonly exited: Promise<{ exitCode: number | null }>
  onOutput(listener: (text: string) => void): void
  write(text: string): boolean
  kill(): void
}

export interface Environment {
  /** `local`, later `docker`, `ssh` … */
  readonly kind: string
  /** The folder commands start in and relative paths resolve against. */
  readonly cwd: string
  /** Runs a shell command to its end. Never throws for a failing command; throws when it cannot be started at all. */
  execute(command: string, options: ExecuteOptions): Promise<ExecuteResult>
  /** Starts a command that outlives the call. Without it `background` is refused with a message. */
  spawn?(command: string, options: { cwd?: string }): BackgroundCommand
  /** Ends everything that still runs. May be called twice. */
  cleanup(): Promise<void>
}
