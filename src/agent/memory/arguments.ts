/**
 * What the model is told of the tool `memory`, and its arguments.
 */
import { z } from 'zod'
import type { MemoryAction, MemoryRequest, MemoryTarget } from './contract.ts'

const memoryActions = ['add', 'replace', 'remove'] as const satisfies readonly MemoryAction[]
const memoryTargets = ['memory', 'user'] as const satisfies readonly MemoryTarget[]

const change = {
  action: z.enum(memoryActions),
  content: z.string().nullish(),
  old_text: z.string().nullish(),
}
export const memoryArguments = z.object({
  ...change,
  action: change.action.nullish(),
  target: z.enum(memoryTargets).default('memory'),
  operations: z.array(z.object(change)).max(100).nullish(),
})

export type MemoryArguments = z.output<typeof memoryArguments>

export const memoryDescription = 'Save short facts for later conversations. user: who the user is; memory: your notes.'

/**
 * The schema is as small as possible, because it is a part of every request. `operations` of Hermes is accepted, too.
 */
export const memoryJsonSchema = {
  type: 'object',
  properties: {
    action: { type: 'string', enum: memoryActions },
    target: { type: 'string', enum: memoryTargets },
    content: { type: 'string' },
    old_text: { type: 'string' },
  },
}

/** Undefined without any operation. `operations` takes precedence, as in Hermes. */
export function memoryRequestOf({
  target,
  action,
  content,
  old_text: oldText,
  operations,
}: MemoryArguments): MemoryRequest | undefined {
  const single = action === undefined || action === null ? [] : [{ action, content, old_text: oldText }]
  const all = operations === undefined || operations === null || operations.length === 0 ? single : operations
  if (all.length === 0) return undefined
  return {
    target,
    operations: all.map((operation) => ({
      action: operation.action,
      content: operation.content ?? undefined,
      old_text: operation.old_text ?? undefined,
    })),
  }
}
