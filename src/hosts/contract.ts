/**
 * The interface of a host: a child process in Node or Python that runs handlers of third parties behind one protocol.
 *
 * The user of a host decides which handlers share it, which environment they get and what a failure means. Two generations
 * of a host may run concurrently while the old one drains.
 */
import type { Logger } from '../lib/log.ts'
import type { HostFailure } from './failure.ts'

/** `node` runs .ts, .mts, .js, .mjs and .cjs; `python` runs .py. */
export type HostLanguage = 'node' | 'python'

/** A file that exports handlers. */
export interface HostModule {
  /** Unique within the host. Appears in calls, logs and errors. */
  readonly name: string
  /** Absolute path. */
  readonly path: string
  /** The function that it must export; `handle` if omitted. In JavaScript the default export is accepted instead. */
  readonly entry?: string
  /** The name of the module in Python (contract §1.2.5); `hermes_hook_<name>` if omitted. */
  readonly importAs?: string
  /**
   * Marks a Python plugin. Loading it calls its entry with a context that contains these values. Registrations arrive as
   * requests, and the names of its callbacks are functions that can be called.
   */
  readonly plugin?: Readonly<Record<string, unknown>>
}

export interface HostOptions {
  /** The name in logs and errors, such as `hooks (node)`. */
  readonly name: string
  readonly language: HostLanguage
  readonly modules: readonly HostModule[]
  /** The complete environment of the child. Python itself sets LC_CTYPE if neither it nor LANG is given. */
  readonly env: Readonly<Record<string, string>>
  /** The working directory: a folder of the gateway, created if it is missing. */
  readonly cwd: string
  /** The interpreter: a path, or a name in the PATH of `env`. The current Node or `python3` if omitted. */
  readonly command?: string | undefined
  /** The cache of stripped TypeScript. If omitted, the host strips types at every start (45 ms and 18 MB more). */
  readonly cacheFolder?: string
  readonly log: Logger
  /** Serves the requests of running handlers. A call may have its own. Without either, requests are rejected. */
  readonly onRequest?: HostRequestHandler | undefined
  /** Serves the requests of modules outside of calls: while they are loaded, or from threads of their own. */
  readonly onBackgroundRequest?: HostRequestHandler | undefined
  /** Called when a process has exited, before its calls fail. */
  readonly onExit?: (exit: HostExit) => void
  /** Replaces `sleep` of `lib/timers.ts` in tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly limits?: Partial<HostLimits>
}

export interface HostExit {
  /** The gateway stopped the process. */
  readonly expected: boolean
  /** A text for users, such as `was terminated by SIGKILL`. */
  readonly reason: string
}

export interface HostLimits {
  /** Time from the start of the process to its `ready` frame, in ms. */
  readonly startTimeoutMs: number
  /** Time to load one module, in ms. */
  readonly loadTimeoutMs: number
  /** Time for a cancelled handler to end before the host is killed, in ms. */
  readonly graceMs: number
  /** Time for a stopped host to exit before it is killed, in ms. */
  readonly exitTimeoutMs: number
  /** Memory beyond that of an empty host. Allocations above it fail or end the process. */
  readonly memoryMb: number
  /** The longest frame that a host may send. Longer results are rejected. */
  readonly maxFrameBytes: number
  /** Concurrent requests of one call. Further requests are rejected. */
  readonly maxRequests: number
}

/** A request of a handler: `send`, `startAgent`, or the name of one of the call's `callbacks`. */
export interface HostRequest {
  readonly module: string
  readonly method: string
  /** JSON values that have not been validated. */
  readonly args: readonly unknown[]
  /** Aborts when the call has ended, or for a request outside of calls when the process has exited. */
  readonly signal: AbortSignal
}

/**
 * Runs in the async context of the call. It must resolve to a JSON value. A thrown error reaches the handler as an error
 * with the same name, code and message.
 */
export type HostRequestHandler = (request: HostRequest) => Promise<unknown>

export interface HostCall {
  readonly module: string
  /** The entry of the module if omitted. */
  readonly function?: string
  /** JSON values. The handler receives copies. */
  readonly args: readonly unknown[]
  /** Keyword arguments in Python. In JavaScript they follow `args` as one object. */
  readonly keywords?: Readonly<Record<string, unknown>>
  /** Keywords that are functions, such as `next_call`: calling one is a request of that name. */
  readonly callbacks?: readonly string[]
  /** Appends an argument `{ signal, log, gateway }`. In Python only if the function accepts that many arguments. */
  readonly services?: boolean
  /** Drops the result in the child, so that it need not be JSON. */
  readonly discardResult?: boolean
  /**
   * Keeps the identity of objects in `args`, `keywords` and responses to requests. An object that comes back unchanged, as
   * the argument of a request or as the result, is the same object in the gateway. An error of a request that the handler
   * throws again unchanged becomes `failure.thrown`.
   */
  readonly byReference?: boolean
  /** Time limit from sending the call to the running host, in ms; none if omitted. */
  readonly deadlineMs?: number | undefined
  /** Cancels the handler, like the deadline. A call that has not started is dropped. */
  readonly signal?: AbortSignal
  /**
   * Time for the handler to end after the signal has aborted, if its process responds, in ms; `graceMs` if omitted. A longer
   * time avoids killing the process, which would end other calls as well.
   */
  readonly cancelGraceMs?: number
  readonly onRequest?: HostRequestHandler | undefined
}

export type HostResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: HostFailure }

export interface LoadedModule {
  /** Absolute paths of the module and of the files it imports, without packages. */
  readonly files: readonly string[]
}

export interface HostStatus {
  /** `idle`: no process, the next call starts one. */
  readonly state: 'idle' | 'starting' | 'running' | 'stopped'
  readonly pid?: number | undefined
  /** Version of Node or Python, as soon as the process has reported it. */
  readonly runtime?: string | undefined
  /** Number of started processes. */
  readonly starts: number
  /** Number of processes that were killed because of a handler. */
  readonly kills: number
  readonly inFlight: number
}

export interface Host {
  /**
   * Starts the process if necessary and loads one module. `call` does so implicitly. Never rejects. A module that failed to
   * load is not loaded again in the same process.
   */
  load(module: string): Promise<HostResult<LoadedModule>>
  /** Never rejects. Calls run concurrently, also within one module. */
  call(call: HostCall): Promise<HostResult<unknown>>
  status(): HostStatus
  /**
   * Accepts no more calls, waits at most `drainMs` (default 0) for calls in flight, then ends the process and its child
   * processes. Resolves when it has exited. May be called twice.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>
}
