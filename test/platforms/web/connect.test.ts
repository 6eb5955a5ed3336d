/**
 * A model is connected on the page, from the demonstration to an answer, without a terminal.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { findChromium, startBrowser } from './browser.ts'

const chromium = findChromium(process.env)
const skip = chromium === undefined ? 'no chromium found; set CHROMIUM to its path' : false

describe('the first model', { skip }, () => {
  test('is chosen, tried with its answer shown, and used from the next message on', async (t) => {
    const { default: axe } = await import('axe-core')
    const gateway = await startTestGateway(t, {
      config: { provider: 'demo', base_url: '', api_key: '', model: '' },
      model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
    })
    const browser = await startBrowser(chromium ?? '')
    t.after(() => browser.close())
    const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage()
    page.setDefaultTimeout(30_000)
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    await page.goto(`${gateway.current().url}/#token=${gateway.current().token()}`)
    await page.getByRole('button', { name: 'Connect one' }).click()
    await page.selectOption('#connect-provider', '')
    await page.fill('#connect-address', 'http://127.0.0.1:9/v1')
    await page.fill('#connect-model', 'a-model')
    await page.click('#connect-try')
    await page.getByText('The model did not answer.').waitFor()
    await page.evaluate(axe.source)
    assert.deepEqual(
      await page.evaluate(
        "axe.run(document).then(({ violations }) => violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id))",
      ),
      [],
    )
    await page.fill('#connect-address', gateway.model.baseUrl)
    await page.fill('#connect-model', 'a-model')
    await page.press('#connect-model', 'Enter')
    await page.getByText('It answered: You said: Greet me').waitFor()
    await page.click('#connect-use')
    await page.locator('#status-text', { hasText: 'a-model' }).waitFor()
    await page.fill('#message', 'hello')
    await page.press('#message', 'Enter')
    await page.locator('.log').getByText('You said: hello').waitFor()
    assert.deepEqual(problems, [])
  })
})
