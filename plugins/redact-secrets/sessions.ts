/**
 * Placeholders: the same secret has the same one throughout a session, and another one in every other session. They are
 * made of the secret with a key that stays here, so that a restart changes none, and nobody can tell the secret by one.
 */
import { createHmac } from 'node:crypto'
import { createRecent } from '#sdk'

export interface Session {
  placeholderOf(secret: string): string
  secrets(): Iterable<string>
  /** How many it knows. */
  count(): number
  /** The text with secrets in the place of their placeholders, where they are known. */
  restored(text: string): string
}

const placeholder = /\[secret:[0-9a-f]{8}\]/g
/** What is left beside a placeholder and is shorter than this is a full stop or a bracket. */
const shortestRest = 6
const keptSessions = 500
const keptSecrets = 1_000

/** @param key 32 random bytes as hex */
export function createSessions(key: string): (id: string) => Session {
  const sessions = createRecent<Session>(keptSessions)
  return (id) => {
    const session = sessions.get(id) ?? createSession(key, id)
    sessions.set(id, session)
    return session
  }
}

/** Whether what looks like a secret is a placeholder, which it may well do: `password: [secret:1a2b3c4d]`. */
export function isReplaced(text: string): boolean {
  const rest = text.replace(placeholder, '')
  return rest !== text && rest.length < shortestRest
}

function createSession(key: string, id: string): Session {
  const byPlaceholder = new Map<string, string>()
  return {
    placeholderOf(secret) {
      const made = `[secret:${createHmac('sha256', key).update(`${id}\n${secret}`).digest('hex').slice(0, 8)}]`
      if (byPlaceholder.size < keptSecrets) byPlaceholder.set(made, secret)
      return made
    },
    secrets: () => byPlaceholder.values(),
    count: () => byPlaceholder.size,
    restored: (text) => text.replace(placeholder, (found) => byPlaceholder.get(found) ?? found),
  }
}
