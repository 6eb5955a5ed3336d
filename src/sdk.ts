/**
 * The public door (`#sdk`): everything that hooks, plugins and platforms may import of the gateway.
 */
export * from './lib/brand.ts'
export { assertNever, HermesError, isHermesError, messageOf, systemCode, toError } from './lib/errors.ts'
export { type Following, follow } from './lib/follow.ts'
export type { Logger } from './lib/log.ts'
export { type MarkedToken, parseMarkdown } from './lib/markdown.ts'
export { createRecent, type Recent } from './lib/recent.ts'
export { neverArrived } from './lib/unreached.ts'
export { backoffMs, pause, within } from './lib/wait.ts'
export * from './message/change.ts'
export * from './message/event.ts'
export * from './message/hook-events.ts'
export * from './message/ids.ts'
export * from './message/outbound.ts'
export * from './message/source.ts'
export * from './message/transcript.ts'
export * from './platforms/adapter.ts'
