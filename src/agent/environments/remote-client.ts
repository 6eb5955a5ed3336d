/**
 * The contract of a client program that reaches another environment: `docker exec`, `ssh`, `singularity exec`. See
 * `createRemoteEnvironment`, which does everything else.
 */
import type { HermesError } from '../../lib/errors.ts'

export interface RemoteClient {
  readonly kind: string
  /**
   * Milliseconds that the client program may take to end after the script has ended. If it takes longer, a process in the
   * environment still holds the output. Default: 150.
   */
  readonly endMs?: number | undefined
  /**
   * Starts the container or opens the connection. Does nothing if the environment is ready. Called before each command. Concurrent
   * calls share one attempt, and a call after a failed one tries again. Rejects with `HermesError` `environment/...`.
   */
  start(signal: AbortSignal): Promise<void>
  /**
   * The command line on this machine that runs `script` with `sh -c` in the environment, in any directory. stdin and stdout are
   * passed unchanged; stderr is the client's own. The script has at most 8 kB.
   */
  commandLine(script: string, options: RemoteCommandOptions): RemoteCommandLine
  /**
   * Why the client program ended although the script did not: the container is gone, the link is lost. Undefined: a signal
   * ended the script. May ask the engine of the container, which takes some seconds at most. Never rejects.
   */
  describeFailure?(exit: RemoteExit): HermesError | undefined | Promise<HermesError | undefined>
  /** Closes the connection, or stops the container. May be called twice, and `start` after it. */
  stop(): Promise<void>
}

export interface RemoteCommandOptions {
  /** Something is written to stdin. Without it stdin is empty. */
  readonly input: boolean
}

export interface RemoteCommandLine {
  /** Program first. */
  readonly argv: readonly string[]
  /** The whole environment of the client program. */
  readonly env: Readonly<Record<string, string>>
}

export interface RemoteExit {
  /** The exit code of the client program. Null when a signal ended it. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The last 4 kB of what the client program wrote to stderr. */
  readonly stderr: string
}
