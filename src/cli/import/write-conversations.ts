/**
 * Stores the conversations of an import in the database of this home. A conversation that is here already is never changed.
 */
import { messageOf } from '../../lib/errors.ts'
import { type ImportedSession, sessionIds, storeImportedSession } from '../../sessions/imported-sessions.ts'
import { createSqliteStore } from '../../store/sqlite/store.ts'
import { readHomeStore } from '../kit/home-store.ts'
import type { ConversationReader, ImportEntry, ImportResult } from './contract.ts'
import { failed } from './source-home.ts'
import type { WriteOptions } from './write-files.ts'

/** Single conversations are only named when something is wrong with them. */
const maxFailures = 20

export async function writeConversations(reader: ConversationReader, options: WriteOptions): Promise<ImportEntry[]> {
  const counts = { taken: 0, same: 0, failed: 0 }
  const failures: ImportEntry[] = []
  const add = (result: ImportResult, reason = '', name = '') => {
    if (result === 'taken' || result === 'same') counts[result] += 1
    else counts.failed += 1
    if (result === 'failed' && failures.length < maxFailures) failures.push(failed('conversations', name, reason))
  }
  try {
    const target = await openTarget(options)
    try {
      for (const session of reader.all(target.isKnown)) {
        if ('result' in session) add(session.result, session.reason, session.name)
        else add((await target.store(session)) ? 'taken' : 'same')
      }
    } finally {
      await target.close()
    }
  } catch (error) {
    failures.push(failed('conversations', 'state.db', messageOf(error)))
  } finally {
    reader.close()
  }
  const summary = (result: 'taken' | 'same'): ImportEntry[] =>
    counts[result] === 0 ? [] : [{ area: 'conversations', name: String(counts[result]), result, reason: '' }]
  const more = counts.failed - maxFailures
  return [
    ...summary('taken'),
    ...summary('same'),
    ...failures,
    ...(more > 0 ? [failed('conversations', `${more} more`, 'they could not be read')] : []),
  ]
}

interface ConversationTarget {
  isKnown(id: string): boolean
  /** False for one that is here already. */
  store(session: ImportedSession): Promise<boolean>
  close(): Promise<void>
}

async function openTarget({ home, dryRun }: WriteOptions): Promise<ConversationTarget> {
  if (!dryRun) {
    const store = createSqliteStore({ path: home.databaseFile })
    const known = await store.run(sessionIds)
    return {
      isKnown: (id) => known.has(id),
      store: (session) => store.run(() => storeImportedSession(session)),
      close: () => store.close(),
    }
  }
  const known = readHomeStore(home, (reader) => reader.run(sessionIds), new Set<string>())
  return { isKnown: (id) => known.has(id), store: async () => true, close: async () => undefined }
}
