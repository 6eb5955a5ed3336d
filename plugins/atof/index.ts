/**
 * ATOF: every event of managed calls goes into a file of the home, one JSON object a line.
 */
import type { ManagedEvent, PluginContext } from '#sdk'
import { createRotatedFile } from './rotated-file.ts'
import { atofSettings } from './settings.ts'
import { createWriter } from './writer.ts'

export function register(ctx: PluginContext): void {
  const { config, home, log } = ctx
  const settings = atofSettings(config.all, home)
  const writer = createWriter({ ...settings, file: createRotatedFile({ ...settings, home }), log })
  const lineOf = settings.includeContent ? whole : withoutContent
  ctx.registerSubscriber('file', (event) => writer.write(lineOf(event)))
  ctx.onUnload(writer.close)
}

function whole(event: ManagedEvent): string {
  return JSON.stringify(event)
}

function withoutContent(event: ManagedEvent): string {
  return JSON.stringify(event, (key, value: unknown) => (key === 'data' ? null : value))
}
