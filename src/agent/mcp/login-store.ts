/**
 * The logins of the gateway at MCP servers, in the files of Hermes: `mcp-tokens/<server>.json` with the tokens and
 * `<server>.client.json` with the registered client, both with mode 0600.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/json.ts'

const tokensSchema = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string().default('Bearer'),
  refresh_token: z.string().optional(),
  expires_in: z.number().optional(),
  scope: z.string().optional(),
  issuer: z.string().optional(),
})

const clientSchema = z.looseObject({
  client_id: z.string().min(1),
  client_secret: z.string().optional(),
  issuer: z.string().optional(),
})

export type StoredTokens = z.output<typeof tokensSchema>
export type StoredClient = z.output<typeof clientSchema>

export interface LoginStore {
  /** Undefined where there are none, or where the file cannot be used. Read at each call: another process may log in. */
  tokens(): StoredTokens | undefined
  client(): StoredClient | undefined
  /** Throw a system error. */
  saveTokens(tokens: object): void
  saveClient(client: object): void
  removeTokens(): void
  removeClient(): void
  /** For a lock that all processes share. */
  readonly lockFile: string
}

/** @param onSecrets receives what must not be shown, whenever it is read or written */
export function createLoginStore(
  directory: string,
  server: string,
  onSecrets: (secrets: readonly string[]) => void = () => undefined,
): LoginStore {
  const tokensFile = join(directory, `${server}.json`)
  const clientFile = join(directory, `${server}.client.json`)
  const known = new Set<string>()
  const report = (...secrets: readonly (string | undefined)[]) => {
    const fresh = secrets.filter((secret) => secret !== undefined && secret !== '' && !known.has(secret))
    if (fresh.length === 0) return
    for (const secret of fresh) if (secret !== undefined) known.add(secret)
    onSecrets([...known])
  }
  const readTokens = () => {
    const tokens = read(tokensFile, tokensSchema)
    report(tokens?.access_token, tokens?.refresh_token)
    return tokens
  }
  const readClient = () => {
    const client = read(clientFile, clientSchema)
    report(client?.client_secret)
    return client
  }
  const write = (file: string, value: object) => {
    ensureDirectory(directory, 0o700)
    writeFileAtomic(file, `${JSON.stringify(value, undefined, 2)}\n`, 0o600)
  }
  return {
    tokens: readTokens,
    client: readClient,
    saveTokens(tokens) {
      write(tokensFile, tokens)
      readTokens()
    },
    saveClient(client) {
      write(clientFile, client)
      readClient()
    },
    removeTokens: () => rmSync(tokensFile, { force: true }),
    removeClient: () => rmSync(clientFile, { force: true }),
    get lockFile() {
      ensureDirectory(directory, 0o700)
      return `${tokensFile}.lock`
    },
  }
}

function read<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> | undefined {
  try {
    const parsed = schema.safeParse(parseJson(readTextIfExists(file, 65_536) ?? ''))
    return parsed.success ? parsed.data : undefined
  } catch {
    // An unreadable file is no login; the next one writes it again.
    return undefined
  }
}
