/**
 * Builds the image and runs it, where this machine has buildah. `container.test.ts` checks its instructions everywhere.
 */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import process from 'node:process'
import { test } from 'node:test'
import { buildImage, whyNoImage } from './kit/image-builder.ts'
import { removeFolder } from './kit/remove-folder.ts'

/** A daemon that answers its health check, as an engine asks for it. */
const serve = `HERMES_HTTP_HOST=127.0.0.1 HERMES_HTTP_PORT=0 node /app/dist/src/main.mjs gateway run 2>/data/log & \
until url=$(node -e "const [url] = /http:\\/\\/[\\d.:]+/.exec(require('fs').readFileSync('/data/log', 'utf8')); console.log(url)" 2>/data/no); do sleep 0.1; done; \
node -e "fetch('$url/healthz').then(({ status }) => console.log(status))"; kill %1; wait`

test('the image is built, answers, and runs without root on files that it cannot write', {
  timeout: 600_000,
}, async (t) => {
  const reason = whyNoImage()
  if (reason !== undefined) return t.skip(reason)
  // Its layers are too large for a temporary folder in memory.
  const folder = mkdtempSync('/var/tmp/hermes-image-')
  t.after(() => removeFolder(folder))
  // The runner ends a process that is silent for two minutes; a busy machine needs longer to install the packages.
  const progress = setInterval(() => process.stderr.write('the image is being built\n'), 30_000)
  const { inside, sizeMb, addedMb } = await buildImage(folder).finally(() => clearInterval(progress))
  assert.match(await inside('hermes', '--version'), /^\d+\.\d+\.\d+/)
  assert.match(await inside('hermes', 'chat', '--query', 'Reply exactly from the image'), /from the image/)
  assert.equal(await inside('sh', '-c', 'id -u; touch /app/file /file 2>/dev/null || echo refused'), '10001\nrefused')
  assert.match(await inside('bash', '-c', serve), /^200$/m)
  t.diagnostic(`the image has ${sizeMb} MB, ${addedMb} MB of them above its base`)
})
