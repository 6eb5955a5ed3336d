/**
 * The session key: which conversation a message belongs to (contract §3.3).
 * Layout `<namespace>:<platform>:<chat type>[:<scope>][:<chat id>][:<thread id>][:<participant>]`.
 */
import { brand } from '../lib/brand.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'

export interface SessionKeyRules {
  /** In groups and channels everybody has a session of their own. Default true. */
  readonly groupSessionsPerUser: boolean
  /** The same inside threads. Default false: a thread is shared. */
  readonly threadSessionsPerUser: boolean
  /** Whether the platform's scope id (workspace) is part of the key; its plugin.yaml says so. */
  readonly scoped: boolean
}

/** Pure and total: every source has exactly one key. */
export function sessionKeyOf(source: SessionSource, rules: SessionKeyRules): SessionKey {
  const scope = rules.scoped && source.scopeId !== undefined ? [source.scopeId] : []
  const slot = source.prospectiveThreadId === undefined ? source.chatType : 'thread'
  const head = [namespaceOf(source.profile), source.platform, slot, ...scope]
  return brand<SessionKey>([...head, ...conversationOf(source, rules)].join(':'))
}

/** Whether several people talk in one session, so that each line has to say who spoke (contract §3.3). */
export function isSharedSession(source: SessionSource, rules: SessionKeyRules): boolean {
  return source.chatType !== 'dm' && !namesParticipant(source, rules)
}

function namespaceOf(profile: string | undefined): string {
  if (profile === undefined || profile === '' || profile === 'default') return 'agent:main'
  // A profile that is really called "main" must not fall together with the default one.
  return profile === 'main' ? 'agent:main~' : `agent:${profile}`
}

function conversationOf(source: SessionSource, rules: SessionKeyRules): string[] {
  const participant = source.userIdAlt ?? source.userId
  const thread = source.prospectiveThreadId ?? source.threadId
  if (source.chatType === 'dm') {
    const who = source.chatId === '' ? participant : source.chatId
    return present(who, thread)
  }
  return present(source.chatId, thread, namesParticipant(source, rules) ? participant : undefined)
}

function namesParticipant(source: SessionSource, rules: SessionKeyRules): boolean {
  const inThread = (source.prospectiveThreadId ?? source.threadId) !== undefined
  return rules.groupSessionsPerUser && (!inThread || rules.threadSessionsPerUser)
}

function present(...parts: (string | undefined)[]): string[] {
  return parts.filter((part) => part !== undefined && part !== '').map(String)
}
