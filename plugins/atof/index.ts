/**
 * ATOF: writes every event of managed calls into a file of the home directory, one JSON object per line.
 */
import { createRotatingFile, type ManagedEvent, type PluginContext } from '#sdk'
import { createBufferedWriter } from './buffered-writer.ts'
import { parseAtofSettings } from './settings.ts'

export function register(ctx: PluginContext): void {
  const { config, home, log } = ctx
  const { path, maxBytes, keepFiles, maxQueueBytes, includeContent } = parseAtofSettings(config.all, home)
  const file = createRotatingFile({ path, maxBytes, keepFiles, root: home })
  const writer = createBufferedWriter(file, maxQueueBytes, log)
  const serialize = includeContent ? serializeEvent : serializeWithoutContent
  ctx.registerSubscriber('file', (event) => writer.write(serialize(event)))
  ctx.onUnload(writer.close)
}

function serializeEvent(event: ManagedEvent): string {
  return JSON.stringify(event)
}

function serializeWithoutContent(event: ManagedEvent): string {
  return JSON.stringify(event, (key, value: unknown) => (key === 'data' ? null : value))
}
