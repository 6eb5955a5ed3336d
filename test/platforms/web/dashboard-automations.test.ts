/**
 * The automations of the page, with a real gateway and a real browser.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import type { TestGatewayOptions } from '../../kit/start-gateway.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'
import { openDashboard, schemes } from './dashboard-support.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

const options: TestGatewayOptions = {
  config: {
    platforms: {
      webhook: { enabled: true, secret: 'sk-canary-0123456789', routes: { deploys: { prompt: 'Deployed' } } },
    },
  },
  model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
  prepare({ plugins }) {
    const folder = join(plugins, 'notes')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'plugin.yaml'), 'name: notes\nversion: 1.0.0\ndescription: Takes notes.\n')
    writeFileSync(join(folder, 'index.ts'), 'export function register() {}\n')
  },
}

describe('the automations of the page', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser(chromium ?? '')
  })
  after(() => browser.close())

  test('schedule a job, run it, and delete it with a way back', async (t) => {
    const { gateway, page, problems, visit } = await openDashboard(t, browser, options)
    await visit('automations')
    await page.getByText('Nothing is scheduled.').waitFor()
    await page.getByRole('button', { name: 'Schedule a job' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Weather')
    await dialog.getByLabel('When').fill('now and then')
    await dialog.getByLabel('What the agent is asked').fill('How is the weather?')
    await dialog.getByRole('button', { name: 'Schedule' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('When').fill('every 2h')
    await dialog.getByRole('button', { name: 'Schedule' }).click()
    const jobs = page.getByRole('region', { name: 'Scheduled jobs' })
    await jobs.getByText('every 2h').waitFor()
    await jobs.getByRole('button', { name: 'Run now: Weather' }).click()
    await gateway.waitForLog({ event: 'cron.ended' })
    await jobs.getByRole('button', { name: 'Weather', exact: true }).click()
    await dialog.getByText('You said:').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await jobs.getByRole('button', { name: 'Pause: Weather' }).click()
    await jobs.getByRole('button', { name: 'Resume: Weather' }).click()
    await jobs.getByRole('button', { name: 'Delete: Weather' }).click()
    await jobs.getByText('Nothing is scheduled.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await jobs.getByText('every 2h').waitFor()
    assert.deepEqual(problems, [])
  })

  test('test a webhook, and enable a plugin', async (t) => {
    const { page, visit } = await openDashboard(t, browser, options)
    await visit('automations')
    await page.getByRole('button', { name: 'Test: deploys' }).click()
    await page.getByRole('dialog', { name: 'The test was accepted' }).getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'deploys', exact: true }).click()
    await page.getByRole('dialog').getByText('test-').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Enable: notes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Disable: notes' }).waitFor()
    assert.doesNotMatch(await page.content(), /sk-canary/)
  })

  for (const scheme of schemes)
    test(`are in order at ${scheme.width} px, ${scheme.colorScheme}`, async (t) => {
      const { page, visit } = await openDashboard(t, browser, options, scheme)
      await visit('automations')
      await page.getByText('deploys').first().waitFor()
      assert.deepEqual(await findSeriousIssues(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    })
})
