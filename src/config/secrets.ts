/**
 * Finds the secret values of the configuration and the environment.
 */
import { isDistinctiveSecret } from '../lib/redact.ts'

const secretNamePattern =
  /(?:token|secret|password|passwd|passphrase|credentials?|authorization|cookie)$|(?:^|[-_.])(?:key|pass)$|(?:api|private|access|signing)key$/

/** Whether the value of this key or variable is secret: `bot_token`, `apiKey`, `OPENAI_API_KEY`, `signing_secret`. */
export function isSecretName(name: string): boolean {
  return secretNamePattern.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase())
}

/**
 * Returns the values under secret names in plain data, at any depth, those of options with secret names in lists of arguments
 * (`--token=...`, `--token ...`), what MCP servers are given under other names, and the passwords in URLs.
 */
export function findSecrets(tree: unknown, isSecretPath: (path: readonly string[]) => boolean = () => false): string[] {
  const secrets: string[] = []
  const visit = (value: unknown, path: readonly string[], isHidden: boolean): void => {
    if (typeof value === 'string') {
      if (isHidden) secrets.push(value, ...findCredentials(value))
      else if (isGivenToServer(path) && looksLikeSecret(value)) secrets.push(value, ...findCredentials(value))
      else secrets.push(...findUrlPasswords(value))
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      // A numeric password. Redacting short numbers would make the log unreadable.
      if (isHidden && String(value).length >= 8) secrets.push(String(value))
    } else if (typeof value === 'object' && value !== null) {
      if (Array.isArray(value)) secrets.push(...findArgumentSecrets(value))
      for (const [key, inner] of Object.entries(value)) {
        const childPath = [...path, key]
        visit(inner, childPath, isHidden || isSecretName(key) || isSecretPath(childPath))
      }
    }
  }
  visit(tree, [], false)
  return secrets
}

export interface EnvironmentSecretsOptions {
  /** All variables. */
  readonly values: Readonly<Record<string, string>>
  /** The variables of `.env`. */
  readonly file: Readonly<Record<string, string>>
  /** Whether a variable of `.env` sets something that everybody may know, such as a port. */
  isPublic(name: string): boolean
}

/**
 * Returns the values of variables with secret names, the passwords in URLs, and the values of `.env` under any name, except
 * public ones and what is everyday text. `isFindableSecret` decides which of them are long enough to be found.
 */
export function findEnvironmentSecrets({ values, file, isPublic }: EnvironmentSecretsOptions): string[] {
  const named = Object.entries({ ...file, ...values }).flatMap(([name, value]) =>
    isSecretName(name) ? [value] : findUrlPasswords(value),
  )
  const unnamed = Object.entries(file).flatMap(([name, value]) =>
    commonVariables.test(name) || isPublic(name) || isEverydayText(value) ? [] : [value],
  )
  return [...new Set([...named, ...unnamed])]
}

const everydayText = [
  // Numbers, dates, times and versions.
  /^[\d.,:\s+-]*$/,
  /^\d+(?:\.\d+)?\s?(?:%|ms|s|sec|m|min|h|d|k|[kmgt]i?b)$/i,
  // Words.
  /^\p{Lu}?\p{Ll}+(?:[-_ ./]\p{Lu}?\p{Ll}+)*$/u,
  /^\p{Lu}+$/u,
]

/** Whether a value of `.env` whose name does not say that it is a secret occurs in text about something else. */
function isEverydayText(value: string): boolean {
  return value.length < 12 && everydayText.some((pattern) => pattern.test(value))
}

/** Variables of the system, not of a service. */
const commonVariables = /^(?:PATH|HOME|USER|SHELL|TERM|TZ|LANG|LC_[A-Z]+|EDITOR|TMPDIR|NODE_ENV|NO_PROXY|no_proxy)$/

/** A header or a variable of a server: its name is the choice of the server, as `X-Workspace: 7f3a9c...`. */
function isGivenToServer([section = '', , list = '', name]: readonly string[]): boolean {
  if (name === undefined || commonVariables.test(name)) return false
  if (section === 'mcp_servers') return /^(?:headers|env)$/.test(list)
  return /^(?:custom_)?providers$/.test(section) && list === 'extra_headers'
}

/** Neither a word, a number or a path, which appear in everyday text, nor an address, nor a reference to a variable. */
function looksLikeSecret(value: string): boolean {
  return isDistinctiveSecret(value) && /\d/.test(value) && /[a-z]/i.test(value) && !/^[~./]|:\/\/|\$\{/.test(value)
}

/** The credentials in the value of an `Authorization` header, which appear without their scheme elsewhere. */
function findCredentials(value: string): string[] {
  const credentials = /^(?:bearer|basic|token) +(\S.*)$/i.exec(value)?.[1]
  return credentials === undefined ? [] : [credentials]
}

function findUrlPasswords(text: string): string[] {
  const password = /:\/\/[^\s/:@]{0,100}:([^\s/@]{1,200})@/.exec(text)?.[1]
  return password === undefined ? [] : [password]
}

function findArgumentSecrets(list: readonly unknown[]): string[] {
  return list.flatMap((text, index): string[] => {
    const [, name = '', assigned] =
      /^--?([\w.-]{1,100})(?:=([\s\S]+))?$/.exec(typeof text === 'string' ? text : '') ?? []
    if (!isSecretName(name)) return []
    const value = assigned ?? list[index + 1]
    return typeof value === 'string' && (assigned !== undefined || !value.startsWith('-')) ? [value] : []
  })
}
