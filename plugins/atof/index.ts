/**
 * ATOF: every event of managed calls goes into a file of the home, one JSON object a line.
 */
import type { ManagedEvent, PluginContext } from '#sdk'
import { createBufferedWriter } from './buffered-writer.ts'
import { createRotatingFile } from './rotating-file.ts'
import { parseAtofSettings } from './settings.ts'

export function register(ctx: PluginContext): void {
  const { config, home, log } = ctx
  const settings = parseAtofSettings(config.all, home)
  const writer = createBufferedWriter({ ...settings, file: createRotatingFile({ ...settings, home }), log })
  const serialize = settings.includeContent ? serializeEvent : serializeWithoutContent
  ctx.registerSubscriber('file', (event) => writer.write(serialize(event)))
  ctx.onUnload(writer.close)
}

function serializeEvent(event: ManagedEvent): string {
  return JSON.stringify(event)
}

function serializeWithoutContent(event: ManagedEvent): string {
  return JSON.stringify(event, (key, value: unknown) => (key === 'data' ? null : value))
}
