/**
 * Sites that list companies and are not leads themselves: directories, maps, marketplaces, social networks, media.
 * Pure.
 */
import { registrableDomain } from '../vocabulary/domain.ts'

const DOMAINS = new Set(
  `2gis.ru 2gis.com 2gis.kz zoon.ru yell.ru yell.com yelp.com yelp.co.uk flamp.ru orgpage.ru spravker.ru spr.ru rusprofile.ru
  list-org.com checko.ru zachestnyibiznes.ru sbis.ru kontur.ru audit-it.ru companies.rbc.ru cataloxy.ru yp.ru pulscen.ru
  blizko.ru tiu.ru satom.ru prodoctorov.ru docdoc.ru sberhealth.ru napopravku.ru doctu.ru infodoctor.ru medihost.ru 32top.ru
  startsmile.ru topdent.ru stom-firms.ru like.doctor gorodrabot.ru hh.ru superjob.ru rabota.ru avito.ru youla.ru profi.ru
  youdo.com remontnik.ru uslugio.com otzovik.com irecommend.ru otzyvru.com pravda-sotrudnikov.ru vseotzyvy.ru ozon.ru
  wildberries.ru market.yandex.ru yandex.ru yandex.com ya.ru google.com google.ru google.co.uk bing.com duckduckgo.com mail.ru
  rambler.ru vk.com vk.ru ok.ru facebook.com instagram.com twitter.com x.com linkedin.com pinterest.com tiktok.com youtube.com
  rutube.ru dzen.ru t.me telegram.me whatsapp.com wa.me viber.com reddit.com quora.com medium.com tumblr.com livejournal.com
  pikabu.ru habr.com vc.ru wikipedia.org wikimedia.org wikidata.org wiktionary.org wikivoyage.org ruwiki.ru fandom.com
  cyberleninka.ru tripadvisor.com tripadvisor.ru tripadvisor.co.uk booking.com ostrovok.ru sutochno.ru airbnb.com expedia.com
  hotels.com trivago.com foursquare.com trustpilot.com bark.com checkatrade.com thomsonlocal.com cylex.net cylex-uk.co.uk
  hotfrog.co.uk hotfrog.com freeindex.co.uk scoot.co.uk 192.com yellowpages.com manta.com bbb.org angi.com angieslist.com
  thumbtack.com houzz.com nextdoor.com groupon.com treatwell.co.uk fresha.com booksy.com yclients.com dikidi.net opentable.com
  justeat.co.uk just-eat.co.uk deliveroo.co.uk ubereats.com restoclub.ru afisha.ru kudago.com gastronom.ru whatclinic.com
  doctolib.de doctolib.fr jameda.de gelbeseiten.de dasoertliche.de 11880.com golocal.de kununu.com werkenntdenbesten.de
  pagesjaunes.fr paginegialle.it indeed.com glassdoor.com amazon.com amazon.co.uk amazon.de ebay.com ebay.co.uk etsy.com gumtree.com
  aliexpress.com aliexpress.ru zillow.com rightmove.co.uk zoopla.co.uk cian.ru domclick.ru domofond.ru drom.ru auto.ru drive2.ru
  autotrader.co.uk rbc.ru kommersant.ru ria.ru tass.ru lenta.ru gazeta.ru kp.ru aif.ru bbc.co.uk bbc.com theguardian.com
  timeout.com cntraveler.com mapquest.com waze.com openstreetmap.org apple.com microsoft.com github.com archive.org gov.uk nhs.uk
  gosuslugi.ru mos.ru tatar.ru tatarstan.ru companieshouse.gov.uk crunchbase.com dnb.com zoominfo.com kompass.com europages.com
  europages.co.uk clutch.co goodfirms.co taplink.cc linktr.ee`.split(/\s+/),
)
/** Matched by their first labels, in any country. */
const EVERYWHERE =
  /^(?:www\.)?(?:yelp|tripadvisor|amazon|ebay|google|yandex|wikipedia|booking|facebook|kompass|cylex|hotfrog|2gis|zoon)\./
/** Government, military and educational sites are not leads. */
const PUBLIC = /(?:^|\.)(?:gov|mil|edu|gob|gouv)(?:\.[a-z]{2})?$/

/** `host` as in a URL. */
export const isNoCompany = (host: string): boolean =>
  DOMAINS.has(registrableDomain(host)) ||
  DOMAINS.has(host.replace(/^www\./, '')) ||
  EVERYWHERE.test(registrableDomain(host)) ||
  PUBLIC.test(host)

/** Titles of articles and lists: `10 best dentists in …`, `Рейтинг стоматологий Казани`. */
const LIST =
  /^(?:the )?(?:top|топ)[\s-]*\d+|^(?:the )?\d+ (?:best|top|лучш)|^(?:the )?best .{1,60} (?:in|near) |^лучшие |^рейтинг |(?:список|каталог|справочник|адреса и телефоны|отзывы о) |(?:list|directory) of |near me\b|вакансии|\bjobs in\b/iu

export const isList = (title: string): boolean => LIST.test(title)
