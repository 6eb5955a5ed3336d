/**
 * Aggregates the chunks of a stream again after a plugin has changed them.
 */

import type { JsonObject } from '../../lib/json.ts'
import { isRecord } from '../../lib/json.ts'
import type { ChunkCollector } from '../../middleware/managed-call.ts'
import { ModelError } from './provider.ts'
import type { ResponseAggregator } from './wire-format.ts'

/** Attributes every error to a plugin, because the vendor's own chunks have been aggregated before without one. */
export function createChunkCollector(aggregator: ResponseAggregator): ChunkCollector<JsonObject, JsonObject> {
  return {
    add(chunk) {
      if (!isRecord(chunk)) throw pluginStreamError('a chunk is not a JSON object')
      withPluginError(() => aggregator.add(chunk))
    },
    finish() {
      // The vendor's stream is complete, whether or not the plugin passed its last chunk on.
      aggregator.markDone()
      const response = withPluginError(() => aggregator.result())
      if (response === null) throw pluginStreamError('its end is missing')
      return response
    },
  }
}

function withPluginError<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    if (error instanceof ModelError) throw pluginStreamError(error.message, error)
    throw error
  }
}

function pluginStreamError(reason: string, cause?: ModelError): ModelError {
  const options = cause === undefined ? { maxTries: 1 } : { cause, maxTries: 1 }
  return new ModelError(
    'bad-response',
    `A plugin changed the model's stream so that it cannot be read: ${reason}`,
    options,
  )
}
