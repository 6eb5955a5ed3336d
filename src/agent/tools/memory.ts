/**
 * Changes what the agent remembers in all later conversations (contract §4.6). It reads nothing: the memory is in the system prompt.
 */
import {
  type MemoryArguments,
  memoryArguments,
  memoryDescription,
  memoryJsonSchema,
  memoryRequestOf,
} from '../memory/arguments.ts'
import type { MemoryAccess, MemoryAnswer } from '../memory/contract.ts'
import { toErrorJson } from '../support/result-json.ts'
import { type ApprovalNeed, type CallingTurn, defineToolCode } from './tool.ts'

export interface MemoryPort {
  /** The memory for all later conversations. Absent: there is none. */
  readonly memory?: ((turn: CallingTurn) => Promise<MemoryAccess>) | undefined
}

export const createMemoryTool = ({ memory }: MemoryPort) =>
  defineToolCode({
    name: 'memory',
    description: memoryDescription,
    parameters: memoryArguments,
    jsonSchema: memoryJsonSchema,
    acceptsUndescribed: true,
    mode: 'effect',
    label: ({ action, operations, target }) => `${action ?? `${operations?.length ?? 0} changes`} ${target}`,

    async approval(args, { turn }) {
      const request = memoryRequestOf(args)
      if (request === undefined || memory === undefined) return undefined
      return (await memory(turn)).needsApproval(request) ? approvalNeed : undefined
    },

    async run(args, { turn, signal, isApproved = false, limits }) {
      if (memory === undefined)
        return toErrorJson({ code: 'memory_unavailable', reason: 'There is no memory here.' }, { success: false })
      const request = memoryRequestOf(args)
      if (request === undefined)
        return toErrorJson(
          { code: 'action_required', reason: 'Give an action (add, replace, remove), or operations.' },
          { success: false },
        )
      const access = await memory(turn)
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

function toSuccessJson({ target }: MemoryArguments, answer: Extract<MemoryAnswer, { ok: true }>): string {
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
