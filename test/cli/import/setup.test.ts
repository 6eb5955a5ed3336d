/**
 * `hermes setup` offers the import in a new home, and the home of Hermes itself is not damaged by a start.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { offerImport } from '../../../src/cli/import/offer.ts'
import { setup } from '../../../src/cli/setup.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { quotePath } from '../../../src/lib/shell-quote.ts'
import { createSqliteStore } from '../../../src/store/sqlite/store.ts'
import { assertFailed, createTestContext, runInProcess } from '../support.ts'
import { contentOf, homesWith, snapshot, type TestHomes, writeStateDatabase } from './support.ts'

/** Each question gets the next answer. */
async function offer({ source, target }: TestHomes, ...answers: readonly string[]) {
  const { context, asked } = terminalAt(target, source, answers)
  return { result: await offerImport(context), asked: asked() }
}

function terminalAt(home: string, userHome: string, answers: readonly string[]) {
  const input = Object.assign(new PassThrough(), { isTTY: true as const })
  const context = createTestContext(home, { environment: { HOME: userHome }, terminal: 80 })
  const left = [...answers]
  let text = ''
  context.output.on('data', (part: string) => {
    const asked = text.split('[y/N]').length
    text += part
    if (text.split('[y/N]').length > asked) setImmediate(() => input.write(`${left.shift() ?? 'n'}\r`))
  })
  return { context: { ...context, input }, asked: () => answers.length - left.length, text: () => text }
}

test('a home of Hermes or OpenClaw is offered in a new home, and only there', async (t) => {
  const files = {
    '.hermes/SOUL.md': 'Hi.',
    '.hermes/config.yaml': 'timezone: UTC\n',
    '.openclaw/openclaw.json': '{logging: {level: "warn"}}',
  }
  const homes = homesWith(t, files)
  const refused = await offer(homes, 'n', 'n')
  assert.deepEqual([refused.result, snapshot(homes.target)], ['nothing', []])
  const taken = await offer(homes, 'y', 'n')
  assert.deepEqual([taken.result, contentOf(homes.target, 'SOUL.md')], ['imported', 'Hi.'])
  assert.deepEqual([taken.asked, (await offer(homes, 'y')).asked], [1, 0])
})

test('a gateway leaves the database of Hermes alone and says what to do', async (t) => {
  const { source } = homesWith(t, {})
  const path = join(source, 'state.db')
  writeStateDatabase(path, 'old', []).close()
  const before = readFileSync(path)
  assert.throws(
    () => createSqliteStore({ path }),
    (error) => isHermesError(error, 'store/foreign'),
  )
  assertFailed(
    await runInProcess(source, ['sessions', 'list']),
    'store/foreign',
    `HERMES_HOME=${quotePath(`${source}-gateway`)} hermes import hermes ${quotePath(source)}`,
  )
  assert.deepEqual(readFileSync(path), before)
})

test('setup in the home of Hermes takes it over into a home beside it, and changes nothing without a yes', async (t) => {
  const { source } = homesWith(t, { 'SOUL.md': 'Hi.', 'config.yaml': 'timezone: UTC\n' })
  const sessions = [{ id: '20260101_080000_abc', source: 'cli', messages: [{ role: 'user', content: 'tulips' }] }]
  writeStateDatabase(join(source, 'state.db'), 'new', sessions).close()
  const before = snapshot(source)
  const beside = `${source}-gateway`
  t.after(() => rmSync(beside, { recursive: true, force: true }))

  await assert.rejects(setup(terminalAt(source, source, ['n']).context, undefined, { json: false }), (error) =>
    isHermesError(error, 'store/foreign'),
  )
  assert.ok(!existsSync(beside))
  const { context, text } = terminalAt(source, source, ['y'])
  await setup(context, undefined, { json: false })
  assert.match(text(), new RegExp(`HERMES_HOME=${beside}`))
  assert.equal(contentOf(beside, 'SOUL.md'), 'Hi.')
  assert.match((await runInProcess(beside, ['sessions', 'search', 'tulips'])).stdout, /20260101_080000_abc/)
  assert.deepEqual(snapshot(source), before)
})
