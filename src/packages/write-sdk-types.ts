/**
 * Writes `types/sdk.d.ts` at the installation (`npm ci`), and in an image that has the sources. An installation without packages
 * for development has no compiler: its editors read the types of `#sdk` in the sources. A failure ends no installation.
 */
import { existsSync } from 'node:fs'
import { writeSdkTypes } from './sdk-declarations.ts'

const compiler = new URL('../../node_modules/typescript', import.meta.url)
const sources = new URL('../sdk.ts', import.meta.url)

if (existsSync(compiler) && existsSync(sources)) {
  try {
    writeSdkTypes()
  } catch (error) {
    process.stderr.write(`types/sdk.d.ts was not written: ${String(error)}\n`)
  }
}
