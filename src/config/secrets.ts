/**
 * Which values are secret, and the list of those that the log must never show.
 */

const secretNamePattern =
  /(?:token|secret|password|passwd|passphrase|credentials?)$|(?:^|[-_.])(?:key|pass)$|(?:api|private|access|signing)key$/

/** Whether a value under this key or variable is to be hidden: `bot_token`, `apiKey`, `OPENAI_API_KEY`, `signing_secret`. */
export function isSecretName(name: string): boolean {
  return secretNamePattern.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase())
}

/** The secrets known to the process, by where they come from. Hand `all` to the redactor. */
export interface SecretRegistry {
  /** The same array until something changes. */
  all(): readonly string[]
  /** Replaces what was known from this source. What was replaced stays hidden: old lines may still be on their way. */
  set(source: string, values: Iterable<string>): void
}

const minSecretLength = 6
const maxFormerSecrets = 200

export function createSecretRegistry(): SecretRegistry {
  const bySource = new Map<string, ReadonlySet<string>>()
  let former: string[] = []
  let all: readonly string[] = []
  return {
    all: () => all,
    set: (source, values) => {
      former = [...(bySource.get(source) ?? []), ...former].slice(0, maxFormerSecrets)
      bySource.set(source, new Set([...values].filter((value) => value.length >= minSecretLength)))
      all = [...new Set([...[...bySource.values()].flatMap((set) => [...set]), ...former])]
    },
  }
}

/** Texts under secret names in a tree of plain data, at any depth, and the passwords inside addresses. */
export function findSecrets(tree: unknown, isSecretPath: (path: readonly string[]) => boolean = () => false): string[] {
  const found: string[] = []
  const visit = (value: unknown, path: readonly string[], hidden: boolean): void => {
    if (typeof value === 'string') {
      if (hidden) found.push(value)
      else found.push(...findUrlPasswords(value))
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      // A numeric password; short numbers would hide half of every log line.
      if (hidden && String(value).length >= 8) found.push(String(value))
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        const within = [...path, key]
        visit(inner, within, hidden || isSecretName(key) || isSecretPath(within))
      }
    }
  }
  visit(tree, [], false)
  return found
}

/** The values of variables with secret names, and the passwords inside addresses. */
export function findEnvironmentSecrets(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => (isSecretName(name) ? [value] : findUrlPasswords(value)))
}

function findUrlPasswords(text: string): string[] {
  const password = /:\/\/[^\s/:@]{0,100}:([^\s/@]{1,200})@/.exec(text)?.[1]
  return password === undefined ? [] : [password]
}
