/**
 * The memory of one turn, as the tool `memory` uses it: what the person who caused the turn may change, what the conversation may
 * show, and whether an owner must allow the change (`memory.write_approval`).
 */
import type { Authority } from '../../message/authority.ts'
import { type MemoryReader, readableTargets, writableTargets } from './access.ts'
import type { MemorySettings } from './config.ts'
import type { MemoryAccess, MemoryAnswer, MemoryChange, MemoryFailure, MemoryRequest } from './contract.ts'
import { memoryFileNames } from './entries.ts'
import type { MemoryStore, MemoryWriteResult } from './memory-store.ts'
import { previewOf } from './operations.ts'
import { showEntries } from './shown-entries.ts'

/** @param onWritten called after each change that is on disk */
export function createMemoryAccess(
  store: MemoryStore,
  settings: () => MemorySettings,
  reader: MemoryReader,
  onWritten: (change: MemoryChange) => void,
): MemoryAccess {
  const refusal = ({ target }: MemoryRequest): MemoryFailure | undefined => {
    if (reader.isBackground) return unavailable('A background task has no memory')
    if (writableTargets(settings(), reader.authority).includes(target)) return undefined
    return refusalFor(settings(), reader.authority, target)
  }
  const needsApproval = (request: MemoryRequest) => {
    if (!settings().write_approval || refusal(request) !== undefined) return false
    const checked = store.check(request)
    return checked.ok && checked.changes.length > 0
  }
  return {
    needsApproval,
    async write(request, { isApproved, signal }) {
      const refused = refusal(request)
      if (refused !== undefined) return { ok: false, failure: refused }
      // Other arguments, or another file, than those that an owner has seen.
      if (!isApproved && needsApproval(request)) return { ok: false, failure: notApproved }
      const result = await store.write(request, signal)
      const isShown = readableTargets(settings(), reader).includes(request.target)
      if (!result.ok) return isShown ? shownFailure(request, result) : hiddenFailure(result)
      for (const change of result.changes) onWritten(change)
      const { entries, usage, changes, archivedCount } = result
      return { ok: true, usage, entryCount: entries.length, changed: changes.length > 0, archivedCount }
    },
  }
}

const notApproved: MemoryFailure = {
  code: 'not_approved',
  reason: 'An owner must allow changes of the memory. Nothing was changed.',
}

function unavailable(reason: string): MemoryFailure {
  return { code: 'memory_unavailable', reason: `${reason}. Nothing was changed.` }
}

function refusalFor(settings: MemorySettings, { role }: Authority, target: MemoryRequest['target']): MemoryFailure {
  const isEnabled = target === 'memory' ? settings.memory_enabled : settings.user_profile_enabled
  if (!isEnabled) return unavailable(`The configuration switches ${memoryFileNames[target]} off`)
  const reason =
    role === 'guest'
      ? 'A guest cannot change the memory.'
      : 'Only an owner can change the profile (target user). Notes go to target memory.'
  return { code: 'not_allowed_for_role', reason: `${reason} Nothing was changed.` }
}

type FailedWrite = Extract<MemoryWriteResult, { ok: false }>

/** What the scan would block in the prompt must not reach the conversation in an error. */
function shownFailure({ target }: MemoryRequest, { failure, entries, usage }: FailedWrite): MemoryAnswer {
  const name = memoryFileNames[target]
  const shown = (all: readonly string[]) => showEntries(name, all).entries
  return {
    ok: false,
    failure: failure.matches === undefined ? failure : { ...failure, matches: shown(failure.matches).map(previewOf) },
    entries: entries && shown(entries),
    usage,
  }
}

/** In a group others would read the entries. */
function hiddenFailure({ failure: { code, reason }, usage }: FailedWrite): MemoryAnswer {
  return { ok: false, failure: { code, reason }, usage }
}
