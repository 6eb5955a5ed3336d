/**
 * Aggregates the chunks of an answer once more, for when a plugin has changed them on their way.
 */

import { isRecord } from '../../lib/json.ts'
import type { ChunkCollector } from '../../middleware/contract.ts'
import { type JsonObject, ModelError } from './provider.ts'
import type { ResponseAggregator } from './stream-response.ts'

/** What is wrong with the chunks is a plugin's doing: the vendor's own have been aggregated already. */
export function createChunkCollector(aggregate: ResponseAggregator): ChunkCollector<JsonObject, JsonObject> {
  return {
    add(chunk) {
      if (!isRecord(chunk)) throw pluginStreamError('a chunk is not a JSON object')
      withPluginError(() => aggregate.add(chunk))
    },
    finish() {
      // The vendor's stream has ended well, whether or not its last words were passed on.
      aggregate.markDone()
      const response = withPluginError(() => aggregate.result())
      if (response === null) throw pluginStreamError('its end is missing')
      return response
    },
  }
}

function withPluginError<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof ModelError) throw pluginStreamError(error.message, error)
    throw error
  }
}

function pluginStreamError(what: string, cause?: ModelError): ModelError {
  const options = cause === undefined ? {} : { cause }
  return new ModelError(
    'bad-response',
    `A plugin changed the model's stream so that it cannot be read: ${what}`,
    options,
  )
}
