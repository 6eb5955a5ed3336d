/**
 * Aggregates the chunks of an answer once more, for when a plugin has changed them on their way.
 */
import type { ChunkCollector } from '../../middleware/contract.ts'
import { type JsonObject, ModelError } from '../provider.ts'
import { isRecord } from './json.ts'
import type { Aggregate } from './stream-call.ts'

/** What is wrong with the chunks is a plugin's doing: the vendor's own have been aggregated already. */
export function collectorOf(aggregate: Aggregate): ChunkCollector<JsonObject, JsonObject> {
  return {
    add(chunk) {
      if (!isRecord(chunk)) throw spoilt('a chunk is not a JSON object')
      readable(() => aggregate.add(chunk))
    },
    finish() {
      // The vendor's stream has ended well, whether or not its last words were passed on.
      aggregate.mark()
      const response = readable(() => aggregate.result())
      if (response === null) throw spoilt('its end is missing')
      return response
    },
  }
}

function readable<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof ModelError) throw spoilt(error.message, error)
    throw error
  }
}

function spoilt(what: string, cause?: ModelError): ModelError {
  const options = cause === undefined ? {} : { cause }
  return new ModelError(
    'bad-response',
    `A plugin changed the model's stream so that it cannot be read: ${what}`,
    options,
  )
}
