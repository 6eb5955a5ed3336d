/**
 * What a backup contains. Its last file, `manifest.json`, names all others with their hashes: an archive without it is not complete.
 */
import { z } from 'zod'

export const manifestName = 'manifest.json'
export const databaseName = 'state.db'

/** Settings, extensions, and what the agent and its people have. What can be made again is in no backup. */
const dataNames: readonly string[] = [
  ...['config.yaml', 'profile.json', 'SOUL.md', 'BOOT.md', 'shell-hooks-allowlist.json', databaseName],
  ...['hooks', 'plugins', 'plugin-state', 'platforms', 'pairing', 'skills', 'memories', 'cron', 'scripts'],
]
const mediaNames: readonly string[] = ['media']
const secretNames: readonly string[] = ['.env', 'auth.json', 'gateway.token', 'mcp-tokens']

export interface BackupParts {
  readonly media: boolean
  readonly secrets: boolean
}

/** The names at the top of the home that a backup is about. Restoring it replaces them. */
export function namesOf({ media, secrets }: BackupParts): readonly string[] {
  return [...dataNames, ...(media ? mediaNames : []), ...(secrets ? secretNames : [])]
}

/** A number, so that a later version can change what the fields mean. */
export const manifestFormat = 1

export const manifestShape = z.object({
  format: z.number(),
  /** The version of the gateway. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  profile: z.string(),
  media: z.boolean(),
  secrets: z.boolean(),
  names: z.array(z.string()),
  /** Settings of config.yaml, and files, from which secrets were removed. */
  withoutSecrets: z.array(z.string()),
  files: z.array(z.object({ path: z.string(), size: z.number(), sha256: z.string() })),
})

export type BackupManifest = z.output<typeof manifestShape>

/** The manifest without its list of files. */
export function summaryOf({ files, names: _names, format: _format, ...summary }: BackupManifest) {
  return { ...summary, files: files.length }
}
