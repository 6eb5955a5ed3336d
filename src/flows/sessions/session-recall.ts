/**
 * The tool `session_search` for a turn: which earlier conversations the person who caused the turn may be told about, given
 * where the answer is read.
 */
import type { SessionRecall } from '../../agent/tools/session-search.ts'
import { hasWaitingUser } from '../../message/event.ts'
import { commandLinePlatform } from '../../message/source.ts'
import type { Turn } from '../../sessions/turn.ts'
import { indexNewMessages } from '../../store/search-index.ts'
import { createRecall } from '../../store/sqlite/recall.ts'
import type { SessionScope } from '../../store/sqlite/visible-sessions.ts'
import type { Store } from '../../store/store.ts'
import { sessionScopeOf } from './session-scope.ts'

export type RecallingTurn = Pick<Turn, 'sessionId' | 'sessionKey' | 'event' | 'authority'>

export interface SessionRecallService {
  forTurn(turn: RecallingTurn): SessionRecall
}

/** @param database the path of the database of the store */
export function createSessionRecall(database: string, store: Pick<Store, 'run'>): SessionRecallService {
  const recall = createRecall(database)
  return {
    forTurn: (turn) => async (request, signal) => {
      if (request.kind === 'discover') await indexNewMessages(store)
      return await recall.read({ ...request, scope: recallScopeOf(turn), current: turn.sessionId }, signal)
    },
  }
}

/**
 * All direct messages of the person only where no one else reads the answer: in a direct message, and in a task that the
 * person began there and whose answer goes there. A program may stand for many people, so it reads its own session; one question on
 * the command line is asked by the person of the machine.
 */
export function recallScopeOf({ sessionKey, event, authority }: RecallingTurn): SessionScope {
  return isPrivate(event, authority) ? sessionScopeOf({ sessionKey, source: event.source, authority }) : { sessionKey }
}

function isPrivate(event: RecallingTurn['event'], authority: RecallingTurn['authority']): boolean {
  const { task, source } = event
  if (authority.chatType !== 'dm') return false
  if (task === undefined) {
    const isPerson = hasWaitingUser(event) || source.platform === commandLinePlatform
    return source.chatType === 'dm' && source.userId === authority.userId && isPerson
  }
  const { deliver } = task
  return (
    task.isRequested === true &&
    deliver !== null &&
    deliver.platform === authority.platform &&
    deliver.account === authority.account &&
    deliver.chatId === authority.chatId
  )
}
