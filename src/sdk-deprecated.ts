/**
 * The names that exports of `#sdk` had in version 0.1. They are removed in 0.3.
 */

export {
  /** @deprecated Use `extractUsage`. */
  extractUsage as usageIn,
} from './agent/models/response-json.ts'
export {
  /** @deprecated Use `Coalescer`. */
  type Coalescer as Latest,
  /** @deprecated Use `createCoalescer`. */
  createCoalescer as createLatest,
} from './lib/coalesce.ts'
export {
  /** @deprecated Use `isConnectError`. */
  isConnectError as neverArrived,
} from './lib/connect-error.ts'
export {
  /** @deprecated Use `findSecretRanges`. */
  findSecretRanges as secretLooking,
} from './lib/find-secrets.ts'
export {
  /** @deprecated Use `asArray`. */
  asArray as list,
  /** @deprecated Use `asNumber`. */
  asNumber as num,
  /** @deprecated Use `asRecord`. */
  asRecord as record,
  /** @deprecated Use `asString`. */
  asString as str,
} from './lib/json.ts'
export {
  /** @deprecated Use `createLruCache`. */
  createLruCache as createRecent,
  /** @deprecated Use `LruCache`. */
  type LruCache as Recent,
} from './lib/lru-cache.ts'
export {
  /** @deprecated Use `formatTable`. */
  formatTable as drawTable,
} from './lib/text-table.ts'
export {
  /** @deprecated Use `LinkedSignal`. */
  type LinkedSignal as Following,
  /** @deprecated Use `linkAbortSignal`. */
  linkAbortSignal as follow,
  /** @deprecated Use `sleep`. */
  sleep as pause,
  /** @deprecated Use `withTimeout`. */
  withTimeout as within,
} from './lib/timers.ts'
export type {
  /** @deprecated Use `AcceptResult`. */
  AcceptResult as Accepted,
  /** @deprecated Use `ReadCursor`. */
  ReadCursor as ReadMark,
} from './message/accept-result.ts'
export type {
  /** @deprecated Use `BackgroundTask`. */
  BackgroundTask as Task,
} from './message/event.ts'
export {
  /** @deprecated Internal; there is no replacement. */
  createAgentContext as agentContext,
  /** @deprecated Internal; there is no replacement. */
  type HookEventListener as EventListener,
  /** @deprecated Internal; there is no replacement. */
  hookEventNames,
  /** @deprecated Internal; there is no replacement. */
  truncateForHooks as cutForHooks,
} from './message/hook-events.ts'
export type {
  /** @deprecated Use `SendFailureKind`. */
  SendFailureKind as SendProblem,
} from './message/outbound.ts'
export {
  /** @deprecated Internal; there is no replacement. */
  backgroundPlatform,
} from './message/source.ts'
export {
  /** @deprecated Internal; there is no replacement. */
  addUsage,
  /** @deprecated Internal; there is no replacement. */
  noUsage,
} from './message/transcript.ts'
export type {
  /** @deprecated Use `TurnResult`. */
  TurnResult as TurnOutcome,
} from './message/turn-result.ts'
export type {
  /** @deprecated Use `EventFields`. */
  EventFields as EventParts,
  /** @deprecated Use `GuardrailDecision`. */
  GuardrailDecision as Verdict,
  /** @deprecated Use `HermesMiddlewareKinds`. */
  HermesMiddlewareKinds as HermesKinds,
  /** @deprecated Use `RewriteTraceEntry`. */
  RewriteTraceEntry as TraceEntry,
} from './middleware/contract.ts'
export type {
  /** @deprecated Use `RewriteTrace`. */
  RewriteTrace as Trace,
} from './middleware/managed-call.ts'
export type {
  /** @deprecated Use `DiagnosticContext`. */
  DiagnosticContext as DiagnosedAccount,
  /** @deprecated Use `DiagnosticResult`. */
  DiagnosticResult as Diagnosis,
  /** @deprecated Use `PressResult`. */
  PressResult as PressAnswer,
} from './platforms/adapter.ts'
export type {
  /** @deprecated Use `LlmResult`. */
  LlmResult as LlmAnswer,
  /** @deprecated Use `PromptSectionContext`. */
  PromptSectionContext as SectionAbout,
} from './plugins/contract.ts'
export type {
  /** @deprecated Use `MemoryContext`. */
  MemoryContext as MemoryAbout,
} from './plugins/memory-provider.ts'
