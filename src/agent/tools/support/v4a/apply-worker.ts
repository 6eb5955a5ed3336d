/**
 * The thread that applies the hunks of a patch to a long text.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { applyHunks } from './apply.ts'

const dataSchema = z.object({
  text: z.string(),
  path: z.string(),
  hunks: z.array(
    z.object({
      line: z.number(),
      anchors: z.array(z.string()),
      lines: z.array(z.object({ kind: z.enum(['context', 'removed', 'added']), text: z.string() })),
      atEnd: z.boolean(),
    }),
  ),
})

const { text, hunks, path } = dataSchema.parse(workerData)
parentPort?.postMessage(applyHunks(text, hunks, path))
