/**
 * Imports the adapter of one platform as the daemon does, connects it, and reports both durations. The first argument
 * contains the settings as JSON: `name` and `options`.
 */
import { flushCompileCache, registerHooks } from 'node:module'
import { z } from 'zod'
import { bundledPackageUrls } from '../../../src/packages/bundled-packages.mjs'
import { createResolver } from '../../../src/packages/resolver.mjs'
import { createRecordingContext } from '../../kit/recording-context.ts'
import { handleRequest } from './child-requests.ts'

const source = new URL('../../../src/', import.meta.url)
registerHooks({ resolve: createResolver(bundledPackageUrls()) })
await import(new URL('sdk.ts', source).href)

const { name, options } = z
  .object({ name: z.string(), options: z.record(z.string(), z.string()) })
  .parse(JSON.parse(process.argv[2] ?? '{}'))

handleRequest('connect', z.looseObject({}), async () => {
  const begun = performance.now()
  const { default: platform } = await import(new URL(`../../../platforms/${name}/adapter.ts`, import.meta.url).href)
  const imported = performance.now()
  const adapter = platform.createAdapter(createRecordingContext({ platform: name, options }).context)
  await adapter.connect(new AbortController().signal)
  const connected = performance.now()
  await adapter.disconnect()
  flushCompileCache()
  return { importMs: imported - begun, connectMs: connected - imported }
})
process.send?.('up')
