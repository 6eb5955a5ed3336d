/**
 * What a host is: one child process that runs other people's handlers, in Node or in Python, behind one protocol.
 *
 * Whoever uses hosts decides which handlers share one, what they may see of the environment, and what a failure means;
 * two generations of a host may run side by side while the old one drains.
 */
import type { Logger } from '../lib/log.ts'
import type { HostFailure } from './failure.ts'

/** `node` runs .ts, .mts, .js, .mjs and .cjs; `python` runs .py. */
export type HostLanguage = 'node' | 'python'

/** A file with functions to call. */
export interface HostModule {
  /** Unique within the host; calls, log lines and errors name it. */
  readonly name: string
  /** Absolute. */
  readonly path: string
  /** The function it must export, or loading fails; `handle` if left out. In JavaScript the default export stands in. */
  readonly entry?: string
  /** What Python calls the module (contract §1.2.5); `hermes_hook_<name>` if left out. */
  readonly importAs?: string
  /**
   * In Python: it is a plugin. Loading it calls its entry with a context that knows this of it; what it registers there
   * comes as requests of its own, and the names it gives to callbacks are functions to call.
   */
  readonly plugin?: Readonly<Record<string, unknown>>
}

export interface HostOptions {
  /** For the log and for errors: `hooks (node)`. */
  readonly name: string
  readonly language: HostLanguage
  readonly modules: readonly HostModule[]
  /** Every variable the child sees; nothing is added (but Python sets LC_CTYPE where neither it nor LANG is given). */
  readonly env: Readonly<Record<string, string>>
  /** The folder it runs in. */
  readonly cwd: string
  /** The program: a path or a name on the PATH of `env`. This very Node, or `python3`, if left out. */
  readonly command?: string
  /** Where TypeScript without its types is kept. Left out: stripped in the host at every start (45 ms, 18 MB more). */
  readonly cacheFolder?: string
  readonly log: Logger
  /** Serves what handlers ask for while they run; a call may bring its own. Without either, requests are refused. */
  readonly onRequest?: HostRequestHandler
  /** Serves what modules ask for outside of calls: while they are loaded, on threads of their own. */
  readonly onBackgroundRequest?: HostRequestHandler
  /** Told of each end of a process, before the calls in it are told. */
  readonly onExit?: (end: HostExit) => void
  /** Takes the place of `lib/wait.ts`, as in tests. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly limits?: Partial<HostLimits>
}

export interface HostExit {
  /** It was asked to. */
  readonly expected: boolean
  /** For people: `was ended by SIGKILL`. */
  readonly reason: string
}

export interface HostLimits {
  /** From its start to its first word, ms. */
  readonly startTimeoutMs: number
  /** For loading one module, ms. */
  readonly loadTimeoutMs: number
  /** How long a handler that was asked to end may take before the host is killed, ms. */
  readonly graceMs: number
  /** How long a host that was asked to end may take before it is killed, ms. */
  readonly exitTimeoutMs: number
  /** Memory of the child beyond what an empty one needs; more makes allocations fail or ends it. */
  readonly memoryMb: number
  /** The longest message a host may send; results above it are refused. */
  readonly maxFrameBytes: number
  /** Requests of one call that are served at the same time; more are refused. */
  readonly maxRequests: number
}

/** What a handler asked for: `send`, `startAgent`, or the name of one of the call's `callbacks`. */
export interface HostRequest {
  readonly module: string
  readonly method: string
  /** JSON values, checked by nobody yet. */
  readonly args: readonly unknown[]
  /** Aborts when the call is over, however it ended; of a request outside of calls, when the process is. */
  readonly signal: AbortSignal
}

/**
 * Runs in the async context of the call it belongs to. What it resolves to must be JSON; what it throws reaches the
 * handler as an error with the same name, code and message.
 */
export type HostRequestHandler = (request: HostRequest) => Promise<unknown>

export interface HostCall {
  readonly module: string
  /** The module's entry if left out. */
  readonly function?: string
  /** JSON values; the child has copies. */
  readonly args: readonly unknown[]
  /** Keyword arguments in Python; in JavaScript they follow `args` as one object. */
  readonly keywords?: Readonly<Record<string, unknown>>
  /** Keywords that are functions, such as `next_call`: calling one is a request of that name. */
  readonly callbacks?: readonly string[]
  /** Adds a last argument `{ signal, log, gateway }`; in Python only where the function takes that many. */
  readonly services?: boolean
  /** Nobody wants the result: it is dropped in the child and need not be JSON. */
  readonly discardResult?: boolean
  /**
   * Objects among `args`, `keywords` and answers to requests keep their identity: one that comes back unchanged, as the
   * argument of a request or as the result, is the same object here; an error of a request that is raised again
   * unchanged is `failure.thrown`.
   */
  readonly byReference?: boolean
  /** From the moment the running host is given the call, ms; none if left out. */
  readonly deadlineMs?: number
  /** Asks the handler to end, as the deadline does. A call that has not begun is dropped. */
  readonly signal?: AbortSignal
  /**
   * How long the handler may take to end when the signal asks it to and its process is not stuck, ms; `graceMs` if left
   * out. Killing the process takes others along.
   */
  readonly cancelGraceMs?: number
  readonly onRequest?: HostRequestHandler
}

export type HostResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: HostFailure }

export interface LoadedModule {
  /** The files that decide what it does: itself and what it imported of its own, absolute. Packages are left out. */
  readonly files: readonly string[]
}

export interface HostStatus {
  /** `idle`: no process, the next call starts one. */
  readonly state: 'idle' | 'starting' | 'running' | 'stopped'
  readonly pid?: number
  /** Version of Node or Python, once it has said hello. */
  readonly runtime?: string
  /** Processes started so far. */
  readonly starts: number
  /** Of those, how many had to be killed because of a handler. */
  readonly kills: number
  readonly inFlight: number
}

export interface Host {
  /**
   * Starts the host if need be and loads one module; `call` does so by itself. Never rejects. A module that failed to
   * load stays failed until the process is another one.
   */
  load(module: string): Promise<HostResult<LoadedModule>>
  /** Never rejects. Several calls run side by side, whether they belong to one module or to several. */
  call(call: HostCall): Promise<HostResult<unknown>>
  status(): HostStatus
  /**
   * Takes no more calls, lets those in flight finish for at most `drainMs` (0 if left out), then ends the process and
   * everything it started. Resolves when it is gone; may be called twice.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>
}
