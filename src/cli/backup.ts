/**
 * `hermes backup`: one archive of a home, taken while the gateway may run.
 */
import { summaryOf } from './backup/manifest.ts'
import { writeBackup } from './backup/write-backup.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'

export interface BackupCommandOptions {
  readonly to?: string | undefined
  readonly withMedia: boolean
  readonly withSecrets: boolean
  readonly json: boolean
}

/** Rejects as `writeBackup` does. */
export async function backup(
  context: CliContext,
  { to, withMedia, withSecrets, json }: BackupCommandOptions,
): Promise<void> {
  const written = await writeBackup(context, { to, media: withMedia, secrets: withSecrets })
  const { file, bytes, manifest, skipped } = written
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json({ file, bytes, ...summaryOf(manifest), skipped })
  const { withoutSecrets } = manifest
  display.line(`Wrote ${file} (${formatSize(bytes)}, ${manifest.files.length} files), and read it back.`)
  if (!withMedia) display.line('Without media; --with-media adds them.')
  if (!withSecrets) display.line('Without keys and tokens; --with-secrets adds them.')
  display.line('Conversations are in it as they are, with what people wrote there: keep it private.')
  if (withoutSecrets.length > 0) display.line(`Secrets were removed from: ${withoutSecrets.join(', ')}.`)
  if (skipped.length > 0)
    display.line(`Left out, as names that cannot be stored or no regular files: ${skipped.join(', ')}.`)
  if (withSecrets) context.errors.write('hermes: the backup contains keys and tokens. Keep it private.\n')
}

function formatSize(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1_024)} kB` : `${(bytes / 1_048_576).toFixed(1)} MB`
}
