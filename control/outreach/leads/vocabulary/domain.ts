/** Finds the registered domain of a web address, without the host and the page. Pure. */

/**
 * Suffixes under which anyone can register a name: our own selection of countries' second-level domains, and of hosts
 * that give each customer a subdomain. A missing suffix joins two customers of it; an extra one separates two hosts of
 * the same owner.
 */
const SUFFIXES = new Set(
  `co.uk org.uk me.uk ltd.uk plc.uk net.uk ac.uk gov.uk nhs.uk sch.uk com.au net.au org.au edu.au gov.au co.nz org.nz net.nz
  com.ru net.ru org.ru pp.ru msk.ru spb.ru nov.ru edu.ru gov.ru com.ua kiev.ua in.ua org.ua net.ua com.kz org.kz com.by co.il org.il
  com.tr org.tr net.tr gen.tr com.br org.br net.br com.ar com.mx com.co com.pe com.ve com.uy com.ec co.jp ne.jp or.jp co.kr or.kr
  com.cn net.cn org.cn com.hk com.tw com.sg com.my co.id co.th in.th com.ph com.vn co.in net.in org.in firm.in com.pk com.bd com.np
  co.za org.za co.ke com.ng com.gh com.eg com.sa com.qa co.ae com.lb com.cy com.gr com.mt com.pl net.pl org.pl waw.pl com.pt com.es
  org.es com.hr com.ro co.at or.at co.hu com.ge com.az co.uz com.de co.rs uk.com us.com eu.com de.com ru.com
  tilda.ws wixsite.com wordpress.com blogspot.com github.io gitlab.io netlify.app vercel.app pages.dev web.app firebaseapp.com
  herokuapp.com myshopify.com square.site business.site jimdosite.com jimdofree.com weebly.com webflow.io godaddysites.com
  mystrikingly.com carrd.co narod.ru ucoz.ru ucoz.com ucoz.net at.ua nethouse.ru insales.ru umi.ru mya5.ru tb.ru clients.site
  taplink.ws tiu.ru prom.ua satom.ru pulscen.ru blizko.ru livejournal.com tumblr.com nichost.ru creatium.site craftum.io`.split(
    /\s+/,
  ),
)

/** `host` as in a URL: lower case, punycode. An IP address, or a name without a dot, is returned as it is. */
export function registrableDomain(host: string): string {
  const name = host.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (labels.length < 3 || /^[\d.]+$/.test(name) || name.includes(':')) return name
  const kept = SUFFIXES.has(labels.slice(-2).join('.')) ? 3 : 2
  return labels.slice(-kept).join('.')
}
