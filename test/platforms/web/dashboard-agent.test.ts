/**
 * What the page shows of the agent, with a real gateway and a real browser.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import type { TestGatewayOptions } from '../../kit/start-gateway.ts'
import { findChromium, findSeriousIssues, startBrowser } from './browser.ts'
import { openDashboard, schemes } from './dashboard-support.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

const options: TestGatewayOptions = {
  config: { mcp_servers: { files: { enabled: false, command: 'files' } } },
  prepare({ memories, root }) {
    mkdirSync(memories, { recursive: true })
    writeFileSync(join(memories, 'MEMORY.md'), 'The cat is called Fog.\n')
    mkdirSync(join(root, 'download', 'trains'), { recursive: true })
    const head = '---\nname: trains\ndescription: Finds trains.\n---\n'
    writeFileSync(join(root, 'download', 'trains', 'SKILL.md'), `${head}\n1. Look at the clock.\n`)
  },
}

describe('the agent on the page', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser(chromium ?? '')
  })
  after(() => browser.close())

  test('has a memory that is changed, and skills that are installed after a scan', async (t) => {
    const { gateway, page, problems, visit } = await openDashboard(t, browser, options)
    await visit('agent')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Edit: The cat is called Fog.' }).click()
    await dialog.getByLabel('Entry').fill('The cat is called Mist.')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The cat is called Mist.').waitFor()
    assert.match(readFileSync(join(gateway.home.memories, 'MEMORY.md'), 'utf8'), /Mist/)
    await page.getByRole('button', { name: 'Install', exact: true }).click()
    await dialog.getByLabel('Folder or archive').fill(join(gateway.home.root, 'nothing'))
    await dialog.getByRole('button', { name: 'Scan' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Folder or archive').fill(join(gateway.home.root, 'download'))
    await dialog.getByRole('button', { name: 'Scan' }).click()
    await page.getByRole('dialog', { name: 'Install trains?' }).getByRole('button', { name: 'Install' }).click()
    await page.getByRole('button', { name: 'trains', exact: true }).click()
    await dialog.getByText('Look at the clock.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    assert.deepEqual(problems, [])
  })

  for (const scheme of schemes)
    test(`is in order at ${scheme.width} px, ${scheme.colorScheme}`, async (t) => {
      const { page, visit } = await openDashboard(t, browser, options, scheme)
      await visit('agent')
      await page.getByText('Commands run in').waitFor()
      assert.deepEqual(await findSeriousIssues(page), [])
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    })
})
