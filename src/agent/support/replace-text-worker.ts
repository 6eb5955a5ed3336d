/**
 * The thread that replaces parts of a long text.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { z } from 'zod'
import { replaceText } from './replace-text.ts'

const dataSchema = z.object({ text: z.string(), search: z.string(), replacement: z.string(), all: z.boolean() })

parentPort?.postMessage(replaceText(dataSchema.parse(workerData)))
