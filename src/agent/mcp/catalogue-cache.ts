/**
 * Stores what the servers offer, so that a start of the gateway needs no start of a server. An entry belongs to the settings
 * with which the server was started; other settings make it worthless.
 */
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../../lib/files.ts'
import { catalogueSchema, type ServerCatalogue } from './catalogue.ts'
import type { McpServerConfig } from './config.ts'

const entrySchema = z.object({ version: z.literal(1), fingerprint: z.string(), catalogue: catalogueSchema })

const maxFileBytes = 32 * 1_048_576

export interface CatalogueCache {
  /** Undefined if the server was never asked with these settings. An unreadable entry counts as absent. */
  read(server: string, settings: McpServerConfig): ServerCatalogue | undefined
  /** Throws a system error. */
  write(server: string, settings: McpServerConfig, catalogue: ServerCatalogue): void
  remove(server: string): void
}

/** @param directory is created with the first entry */
export function createCatalogueCache(directory: string): CatalogueCache {
  const fileOf = (server: string) => join(directory, `${server}.json`)
  return {
    read(server, settings) {
      try {
        const text = readTextIfExists(fileOf(server), maxFileBytes)
        if (text === undefined) return undefined
        const entry = entrySchema.safeParse(JSON.parse(text))
        return entry.success && entry.data.fingerprint === fingerprintOf(settings) ? entry.data.catalogue : undefined
      } catch {
        // The server is asked again.
        return undefined
      }
    },
    write(server, settings, catalogue) {
      ensureDirectory(directory)
      const entry = { version: 1, fingerprint: fingerprintOf(settings), catalogue }
      writeFileAtomic(fileOf(server), JSON.stringify(entry))
    },
    remove: (server) => rmSync(fileOf(server), { force: true }),
  }
}

/** Returns the fingerprint of the settings that decide which server answers. */
export function fingerprintOf(settings: McpServerConfig): string {
  const { command, args, env, cwd, url, headers, transport, auth, oauth, sandbox } = settings
  const { ssl_verify, client_cert, client_key } = settings
  const parts = [
    command,
    args,
    env,
    cwd,
    url,
    headers,
    transport,
    auth,
    oauth,
    sandbox,
    ssl_verify,
    client_cert,
    client_key,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
