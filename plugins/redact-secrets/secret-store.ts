/**
 * Placeholders: the same secret has the same one throughout a session, and another one in every other session. They are
 * made of the secret with a key that stays here, so that a restart changes none, and nobody can tell the secret by one.
 */
import { createHmac } from 'node:crypto'
import { createLruCache } from '#sdk'

export interface SecretStore {
  placeholderOf(secret: string): string
  secrets(): Iterable<string>
  /** How many it knows. */
  count(): number
  /** The text with secrets in the place of their placeholders, where they are known. */
  restore(text: string): string
}

const placeholderPattern = /\[secret:[0-9a-f]{8}\]/g
/** What is left beside a placeholder and is shorter than this is a full stop or a bracket. */
const minRemainderLength = 6
const maxSessions = 500
const maxSecretsPerSession = 1_000

/** @param key 32 random bytes as hex */
export function createSecretStores(key: string): (id: string) => SecretStore {
  const sessions = createLruCache<SecretStore>(maxSessions)
  return (id) => {
    const session = sessions.get(id) ?? createSecretStore(key, id)
    sessions.set(id, session)
    return session
  }
}

/** Whether what looks like a secret is a placeholder, which it may well do: `password: [secret:1a2b3c4d]`. */
export function isPlaceholder(text: string): boolean {
  const rest = text.replace(placeholderPattern, '')
  return rest !== text && rest.length < minRemainderLength
}

function createSecretStore(key: string, id: string): SecretStore {
  const byPlaceholder = new Map<string, string>()
  return {
    placeholderOf(secret) {
      const made = `[secret:${createHmac('sha256', key).update(`${id}\n${secret}`).digest('hex').slice(0, 8)}]`
      if (byPlaceholder.size < maxSecretsPerSession) byPlaceholder.set(made, secret)
      return made
    },
    secrets: () => byPlaceholder.values(),
    count: () => byPlaceholder.size,
    restore: (text) => text.replace(placeholderPattern, (found) => byPlaceholder.get(found) ?? found),
  }
}
