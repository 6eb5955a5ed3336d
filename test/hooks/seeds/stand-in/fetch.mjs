/**
 * Stands in for `fetch`: writes down what would have been posted, in the file that HTTP_RECORD names.
 */
import { appendFileSync } from 'node:fs'

globalThis.fetch = async (url, { body }) => {
  appendFileSync(process.env.HTTP_RECORD, `${JSON.stringify({ url, body: JSON.parse(body) })}\n`)
  return new Response()
}
