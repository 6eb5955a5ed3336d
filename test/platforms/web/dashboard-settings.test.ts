/**
 * The settings of the page, with a real gateway and a real browser.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { at } from '../../stories/support.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'
import { openDashboard, schemes } from './dashboard-support.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false
const configText =
  'model: test-model # the small one\nprovider: demo\napi_key: sk-canary-0123456789abcdef\nhttp: { port: 0 }\n'

describe('the settings of the page', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser(chromium ?? '')
  })
  after(() => browser.close())

  test('are found, changed, compared and saved with their comments', async (t) => {
    const { gateway, page, problems, visit } = await openDashboard(t, browser, { configText })
    await visit('settings')
    await page.getByLabel('Find a setting').fill('model timeout')
    await page.getByLabel('agent.model_timeout', { exact: true }).fill('55')
    await page.getByLabel('Find a setting').fill('model')
    await page.getByLabel('model', { exact: true }).fill('a-larger-model')
    await page.getByLabel('model', { exact: true }).press('Tab')
    assert.equal(await page.getByLabel('api_key', { exact: true }).count(), 0)
    await page.getByText('2 changes').waitFor()
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.locator('del', { hasText: '-model: test-model # the small one' }).waitFor()
    await page.getByText('It applies at once.').waitFor()
    assert.deepEqual(await findSeriousIssues(page), [])
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.locator('#status-text', { hasText: 'Connected' }).waitFor()
    await page.locator('.pending').waitFor({ state: 'hidden' })
    const text = readFileSync(gateway.home.configFile, 'utf8')
    assert.match(text, /^model: a-larger-model # the small one\nprovider: demo\napi_key: sk-canary/)
    assert.match(text, /agent:\n {2}model_timeout: 55/)
    assert.doesNotMatch(await page.content(), /sk-canary/)
    assert.deepEqual(problems, [])
  })

  test('that are invalid show their line, and a file that was changed meanwhile is read again', async (t) => {
    const { gateway, page, visit } = await openDashboard(t, browser, { configText })
    await visit('settings')
    await page.getByLabel('Find a setting').fill('http.port')
    await page.getByLabel('http.port', { exact: true }).fill('99999')
    await page.getByLabel('http.port', { exact: true }).press('Tab')
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByText('line 4, column').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled(), true)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Undo: http.port' }).click()
    await page.getByLabel('http.port', { exact: true }).fill('8700')
    await page.getByLabel('http.port', { exact: true }).press('Tab')
    writeFileSync(gateway.home.configFile, `${configText}timezone: Europe/Berlin\n`)
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByText('It applies after a restart.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The configuration was changed since it was read').waitFor()
    await page.getByRole('button', { name: 'Read the file again' }).click()
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByText('It applies after a restart.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('http.port: applies after a restart.').waitFor()
    assert.match(readFileSync(gateway.home.configFile, 'utf8'), /port: 8700[\s\S]*Europe\/Berlin/)
  })

  test('take keys and never show them', async (t) => {
    const { gateway, page, visit } = await openDashboard(t, browser, { configText })
    await visit('settings')
    await page.getByRole('button', { name: 'Set a variable' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('ANTHROPIC_API_KEY')
    await page.getByRole('dialog').getByLabel('Value').fill('sk-canary-of-anthropic')
    await page.getByRole('button', { name: 'Set', exact: true }).click()
    await page.locator('.rows', { hasText: 'ANTHROPIC_API_KEY' }).waitFor()
    assert.match(readFileSync(gateway.home.envFile, 'utf8'), /ANTHROPIC_API_KEY=sk-canary-of-anthropic/)
    assert.doesNotMatch(await page.content(), /sk-canary/)
    await page.getByRole('button', { name: 'Remove: ANTHROPIC_API_KEY' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No key is set.').waitFor()
    assert.doesNotMatch(readFileSync(gateway.home.envFile, 'utf8'), /ANTHROPIC/)
  })

  for (const { width, colorScheme } of schemes)
    test(`are in order at ${width} px, ${colorScheme}`, async (t) => {
      const { page, visit } = await openDashboard(t, browser, { configText }, { width, colorScheme })
      await visit('settings')
      await page.locator('details[data-group="platforms.telegram"] > summary').click()
      await page.getByLabel('platforms.telegram.token', { exact: true }).waitFor()
      assert.deepEqual(await findSeriousIssues(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    })
})

describe('the fields of the settings', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'Hermes' },
      token: { type: 'string', writeOnly: true },
      people: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'string' }] },
      mode: { anyOf: [{ type: 'string', const: 'auto' }, { type: 'boolean' }] },
      servers: {
        type: 'object',
        additionalProperties: { type: 'object', properties: { url: { type: 'string' }, port: { type: 'integer' } } },
      },
    },
  }
  const fields = async (values: readonly object[]) => {
    const page = await import(
      String(new URL('../../../platforms/web/page/dashboard/settings-fields.js', import.meta.url))
    )
    const settings: unknown = page.listSettings(schema, values)
    assert.ok(Array.isArray(settings))
    return { settings, readAs: (index: number, text: string): unknown => page.valueOfText(settings[index], text) }
  }
  const valueAt = (path: string[], value: unknown) => ({ path, value, is_secret: false, source: 'file' })

  test('follow the schema, and entries of mappings the file', async () => {
    const { settings } = await fields([valueAt(['servers', 'mine', 'url'], 'http://x'), valueAt(['other', 'x'], true)])
    assert.deepEqual(
      settings.map((setting) => `${at(setting, 'name')} ${at(setting, 'kind')} ${at(setting, 'isSecret')}`),
      [
        'name text false',
        'token text true',
        'people lines false',
        'mode choice false',
        'servers.mine.url text false',
        'servers.mine.port number false',
        'servers names false',
        'other.x switch false',
      ],
    )
  })

  test('become values of the type that the schema has', async () => {
    const { readAs } = await fields([valueAt(['servers', 'mine', 'url'], '')])
    assert.deepEqual(readAs(2, 'ada\n\n bob '), ['ada', 'bob'])
    assert.equal(readAs(3, 'true'), true)
    assert.equal(readAs(3, 'auto'), 'auto')
    assert.equal(readAs(5, ''), undefined)
  })
})
