/**
 * The placeholders of a session. A secret has one placeholder per session and a different one in every other session.
 * A placeholder is a keyed hash of the secret: it survives a restart and does not reveal the secret.
 */
import { createHmac } from 'node:crypto'
import { createLruCache } from '#sdk'

export interface SecretStore {
  placeholderOf(secret: string): string
  secrets(): Iterable<string>
  /** Number of known secrets. */
  count(): number
  /** Replaces known placeholders with their secrets. */
  restore(text: string): string
}

const placeholderPattern = /\[secret:[0-9a-f]{8}\]/g
/** A shorter rest beside a placeholder is punctuation. */
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

/** Whether a text that looks like a secret is a placeholder, as in `password: [secret:1a2b3c4d]`. */
export function isPlaceholder(text: string): boolean {
  const rest = text.replace(placeholderPattern, '')
  return rest !== text && rest.length < minRemainderLength
}

function createSecretStore(key: string, id: string): SecretStore {
  const byPlaceholder = new Map<string, string>()
  return {
    placeholderOf(secret) {
      const placeholder = `[secret:${createHmac('sha256', key).update(`${id}\n${secret}`).digest('hex').slice(0, 8)}]`
      if (byPlaceholder.size < maxSecretsPerSession) byPlaceholder.set(placeholder, secret)
      return placeholder
    },
    secrets: () => byPlaceholder.values(),
    count: () => byPlaceholder.size,
    restore: (text) => text.replace(placeholderPattern, (placeholder) => byPlaceholder.get(placeholder) ?? placeholder),
  }
}
