/**
 * Changes what the agent remembers in all later conversations (contract §4.6). It reads nothing: the memory is in the system prompt.
 */
import { z } from 'zod'
import type { MemoryAction, MemoryAnswer, MemoryRequest, MemoryTarget } from '../memory/contract.ts'
import { toErrorJson } from './support/result-json.ts'
import { type ApprovalNeed, defineTool } from './tool.ts'

const memoryActions = ['add', 'replace', 'remove'] as const satisfies readonly MemoryAction[]
const memoryTargets = ['memory', 'user'] as const satisfies readonly MemoryTarget[]

const change = {
  action: z.enum(memoryActions),
  content: z.string().nullish(),
  old_text: z.string().nullish(),
}
const parameters = z.object({
  ...change,
  action: change.action.nullish(),
  target: z.enum(memoryTargets).default('memory'),
  operations: z.array(z.object(change)).max(100).nullish(),
})

type Arguments = z.output<typeof parameters>

export default defineTool({
  name: 'memory',
  toolset: 'memory',
  description:
    'Save short facts for later conversations. user: who the user is; memory: your notes. operations: several {action, content, old_text} at once.',
  parameters,
  jsonSchema: {
    type: 'object',
    properties: {
      action: { type: 'string', enum: memoryActions },
      target: { type: 'string', enum: memoryTargets },
      content: { type: 'string' },
      old_text: { type: 'string' },
      operations: { type: 'array', items: { type: 'object' } },
    },
  },
  mode: 'effect',
  label: ({ action, operations, target }) => `${action ?? `${operations?.length ?? 0} changes`} ${target}`,

  async approval(args, { memory }) {
    const request = requestOf(args)
    if (request === undefined || memory === undefined) return undefined
    return (await memory()).needsApproval(request) ? approvalNeed : undefined
  },

  async run(args, { memory, signal, isApproved = false, limits }) {
    if (memory === undefined)
      return toErrorJson({ code: 'memory_unavailable', reason: 'There is no memory here.' }, { success: false })
    const request = requestOf(args)
    if (request === undefined)
      return toErrorJson(
        { code: 'action_required', reason: 'Give an action (add, replace, remove), or operations.' },
        { success: false },
      )
    const access = await memory()
    const answer = await access.write(request, { isApproved, signal })
    return answer.ok ? toSuccessJson(args, answer) : toFailureJson(answer, limits.maxResultChars)
  },
})

const approvalNeed: ApprovalNeed = {
  source: 'policy',
  ruleKey: 'memory-write',
  reason: 'It changes what the agent knows in all later conversations.',
  place: '',
  remember: 'call',
  ownerOnly: true,
}

/** Undefined without any operation. `operations` takes precedence, as in Hermes. */
function requestOf({ target, action, content, old_text: oldText, operations }: Arguments): MemoryRequest | undefined {
  const single = action === undefined || action === null ? [] : [{ action, content, old_text: oldText }]
  const all = operations === undefined || operations === null || operations.length === 0 ? single : operations
  if (all.length === 0) return undefined
  return {
    target,
    operations: all.map((one) => ({
      action: one.action,
      content: one.content ?? undefined,
      old_text: one.old_text ?? undefined,
    })),
  }
}

function toSuccessJson({ target }: Arguments, answer: Extract<MemoryAnswer, { ok: true }>): string {
  const { usage, entryCount, changed, archivedCount } = answer
  return JSON.stringify({
    success: true,
    target,
    usage,
    entry_count: entryCount,
    ...(archivedCount === 0 ? {} : { archived: archivedCount }),
    message: changed
      ? 'Saved for later conversations. Do not repeat it.'
      : 'The file already has this; no duplicate added.',
  })
}

const maxPreviewChars = 80

/** Long entries are shortened when the result would be too long. */
function toFailureJson({ failure, entries, usage }: Extract<MemoryAnswer, { ok: false }>, maxChars: number): string {
  const { code, reason, matches } = failure
  const toJson = (shown: readonly string[] | undefined) =>
    toErrorJson(
      { code, reason },
      {
        success: false,
        ...(matches && { matches }),
        ...(shown && { current_entries: shown }),
        ...(usage && { usage }),
      },
    )
  const complete = toJson(entries)
  if (complete.length <= maxChars) return complete
  const previews = toJson(entries?.map((entry) => entry.slice(0, maxPreviewChars).toWellFormed()))
  return previews.length <= maxChars ? previews : toJson(undefined)
}
