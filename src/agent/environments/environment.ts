/**
 * The contract of an environment in which commands run (seed 004, `BaseEnvironment`). It is small, so that a container or a
 * remote host can implement it.
 */
import type { EnvironmentFiles } from './files.ts'

export interface ExecuteOptions {
  /** Absolute, or relative to the directory of the environment, which is the default. */
  readonly cwd?: string
  readonly timeoutMs: number
  /** Kills the command and the processes that it started. */
  readonly signal: AbortSignal
  /** Bytes of output retained. The middle of a longer output is left out, with a note. */
  readonly maxOutputBytes: number
  /** Files below a hidden directory that the command may read. */
  readonly exposed?: readonly string[]
  /** Variables for this command alone. */
  readonly variables?: Readonly<Record<string, string>>
  /** Runs without the sandbox. Only after a person has agreed to this command. */
  readonly outsideSandbox?: true
}

export type SpawnOptions = Pick<ExecuteOptions, 'cwd' | 'exposed' | 'variables' | 'outsideSandbox'>

export interface ExecuteResult {
  /** stdout and stderr in their order, as text; invalid UTF-8 is replaced. */
  readonly output: string
  /** Null when a signal killed the command. */
  readonly exitCode: number | null
  readonly timedOut: boolean
  readonly aborted: boolean
}

/** A command that runs in the background. */
export interface BackgroundCommand {
  readonly pid: number
  /** Resolves when the command has exited. Never rejects. */
  readonly exited: Promise<{ exitCode: number | null }>
  onOutput(listener: (text: string) => void): void
  /** False when the command takes no input any more. */
  write(text: string): boolean
  /** The input has no more text. False when it had ended. Absent where it cannot be ended. */
  endInput?(): boolean
  kill(): void
}

export interface Environment {
  /** `local`, `bwrap`, `docker`, `ssh`, `singularity`, or the name that a plugin has registered. */
  readonly kind: string
  /** The working directory of commands and the base of relative paths. In a remote environment it may begin with `~`. */
  readonly cwd: string
  /** The files of the same environment. */
  readonly files: EnvironmentFiles
  /**
   * Commands cannot reach the machine of the gateway and its files, as in a container. Then no command needs approval; the
   * forbidden ones stay forbidden.
   */
  readonly isContainer?: boolean | undefined
  /** Prepares the environment. Rejects with `HermesError` `environment/...`. Commands and files do it themselves when needed. */
  start?(signal: AbortSignal): Promise<void>
  /** Runs a shell command until it exits. Throws only when the command cannot be started. */
  execute(command: string, options: ExecuteOptions): Promise<ExecuteResult>
  /**
   * Starts a command that outlives the call. Optional: without it background commands are not available. Rejects when the
   * command cannot be started.
   */
  spawn?(command: string, options: SpawnOptions): Promise<BackgroundCommand>
  /** Whether commands run in a sandbox of this machine. Absent where the environment has its own isolation. */
  isSandboxed?(): Promise<boolean>
  /** Kills all running commands. May be called twice. */
  cleanup(): Promise<void>
}

/** Values by name; null for a variable that the next command must not have. */
export type ExportedVariables = ReadonlyMap<string, string | null>

/** What the shell commands of a session leave to the next one. Held in memory: values may be secrets. */
export interface ShellState {
  /** Where the last command ended; undefined: where the environment begins. */
  directory: string | undefined
  /**
   * By the role of the person: an owner may export what a guest must not read, and a guest must not choose the programs that
   * run for an owner.
   */
  readonly exports: Map<string, ExportedVariables>
}

/** A background command with its output. */
export interface ProcessEntry {
  /** A short id: `proc_1`. */
  readonly id: string
  readonly command: string
  readonly startedAt: number
  readonly process: BackgroundCommand
  /** It runs without the sandbox, because an owner agreed to this command. */
  readonly outsideSandbox?: true
  /** Returns the output since the last call, bounded. */
  takeOutput(): string
  /** The retained output; the oldest is dropped first. */
  log(): string
  /** Undefined while it is running. */
  exit(): { readonly exitCode: number | null; readonly at: number } | undefined
}

/** The background commands of one session, so that the `process` tool can list, poll and kill them. */
export interface ProcessTable {
  add(command: string, process: BackgroundCommand, options?: Pick<ExecuteOptions, 'outsideSandbox'>): ProcessEntry
  get(id: string): ProcessEntry | undefined
  list(): readonly ProcessEntry[]
  /** Kills all running commands. May be called twice. */
  killAll(): void
}
